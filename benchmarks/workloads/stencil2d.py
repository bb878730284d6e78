"""A damped membrane with a fixed rim: every step is a launch, all states are kept in a time-indexed
field."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

STEPS, SPEED, DAMPING = 64, 0.24, 0.998


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """`size` x `size` points."""
    height = ti.field(ti.f32, (steps, size, size), needs_grad=True)
    start = ti.field(ti.f32, (size, size), needs_grad=True)
    wanted = ti.field(ti.f32, (size, size))
    loss = ti.field(ti.f32, (), needs_grad=True)
    ramp = np.linspace(0, np.pi, size)
    start.from_numpy(np.outer(np.sin(3 * ramp), np.sin(2 * ramp)).astype(np.float32))
    wanted.from_numpy(np.outer(np.sin(ramp), np.sin(ramp)).astype(np.float32))

    @ti.kernel
    def begin():
        for i, j in start:
            height[0, i, j] = start[i, j]
            height[1, i, j] = start[i, j]

    @ti.kernel
    def swing(t: int):
        for i, j in ti.ndrange((1, size - 1), (1, size - 1)):
            middle = height[t - 1, i, j]
            bend = (
                height[t - 1, i - 1, j]
                + height[t - 1, i + 1, j]
                + height[t - 1, i, j - 1]
                + height[t - 1, i, j + 1]
                - 4.0 * middle
            )
            height[t, i, j] = middle + DAMPING * (middle - height[t - 2, i, j]) + SPEED * bend

    @ti.kernel
    def compare():
        for i, j in wanted:
            miss = height[steps - 1, i, j] - wanted[i, j]
            loss[None] += miss * miss / (size * size)

    def forward() -> None:
        begin()
        for t in range(2, steps):
            swing(t)
        compare()

    return Workload(forward, loss, [start])
