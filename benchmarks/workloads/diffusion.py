"""Diffusion that depends on the height, in place: every step overwrites what the gradient of the
step before needs."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

STEPS, RATE, BEND = 64, 0.1, 0.1


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """`size` x `size` points."""
    start = ti.field(ti.f32, (size, size), needs_grad=True)
    height = ti.field(ti.f32, (size, size), needs_grad=True)
    flow = ti.field(ti.f32, (size, size), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    start.from_numpy(np.random.default_rng(47).uniform(0, 1, (size, size)).astype(np.float32))

    @ti.kernel
    def begin():
        for i, j in start:
            height[i, j] = start[i, j]

    @ti.kernel
    def spread():
        for i, j in ti.ndrange((1, size - 1), (1, size - 1)):
            here = height[i, j]
            bend = (
                height[i + 1, j]
                + height[i - 1, j]
                + height[i, j + 1]
                + height[i, j - 1]
                - 4.0 * here
            )
            flow[i, j] = bend * (1.0 + BEND * here * here)

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, size - 1), (1, size - 1)):
            height[i, j] += RATE * flow[i, j]

    @ti.kernel
    def measure():
        for i, j in height:
            loss[None] += height[i, j] * height[i, j] / (size * size)

    def forward() -> None:
        begin()
        for _ in range(steps):
            spread()
            step()
        measure()

    return Workload(forward, loss, [start])
