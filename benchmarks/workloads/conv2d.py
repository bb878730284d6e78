"""A convolution of an image with many channels as plain loops, weighed into a loss: its gradients
are two convolutions."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

WINDOW, INPUTS, FILTERS = 3, 32, 32


def build(ti: Any, size: int) -> Workload:
    """An image of `size` by `size` points."""
    out = size - WINDOW + 1
    image = ti.field(ti.f32, (size, size, INPUTS), needs_grad=True)
    kernel = ti.field(ti.f32, (WINDOW, WINDOW, INPUTS, FILTERS), needs_grad=True)
    result = ti.field(ti.f32, (out, out, FILTERS), needs_grad=True)
    weight, loss = ti.field(ti.f32, (out, out, FILTERS)), ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(61)
    for array, spread in (
        (image, 1.0),
        (kernel, (WINDOW * WINDOW * INPUTS) ** -0.5),
        (weight, 1 / size),
    ):
        array.from_numpy(random.normal(0, spread, array.shape).astype(np.float32))

    @ti.kernel
    def convolve():
        for i, j, f in result:
            total = 0.0
            for a in range(WINDOW):
                for b in range(WINDOW):
                    for c in range(INPUTS):
                        total += image[i + a, j + b, c] * kernel[a, b, c, f]
            result[i, j, f] = total

    @ti.kernel
    def weigh():
        for i, j, f in result:
            loss[None] += weight[i, j, f] * result[i, j, f]

    def forward() -> None:
        convolve()
        weigh()

    return Workload(forward, loss, [image, kernel])
