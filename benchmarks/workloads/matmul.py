"""A product of two matrices as three plain loops, weighed into a loss: its gradient is two
products."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload


def build(ti: Any, size: int) -> Workload:
    """Matrices of `size` rows and columns."""
    left, right, product = (ti.field(ti.f32, (size, size), needs_grad=True) for _ in range(3))
    weight, loss = ti.field(ti.f32, (size, size)), ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(47)
    for array in (left, right, weight):
        array.from_numpy(random.normal(0, size**-0.5, (size, size)).astype(np.float32))

    @ti.kernel
    def multiply():
        for i, j in product:
            total = 0.0
            for k in range(size):
                total += left[i, k] * right[k, j]
            product[i, j] = total

    @ti.kernel
    def weigh():
        for i, j in product:
            loss[None] += weight[i, j] * product[i, j]

    def forward() -> None:
        multiply()
        weigh()

    return Workload(forward, loss, [left, right])
