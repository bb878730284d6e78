"""The sum of squares of `a x + y`: bound by memory, with a reduction to one cell."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload


def build(ti: Any, size: int) -> Workload:
    """`size` elements."""
    x = ti.field(ti.f32, size, needs_grad=True)
    y = ti.field(ti.f32, size, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(11)
    x.from_numpy(random.uniform(-1, 1, size).astype(np.float32))
    y.from_numpy(random.uniform(-1, 1, size).astype(np.float32))

    @ti.kernel
    def add_squares():
        for i in x:
            term = 0.75 * x[i] + y[i]
            loss[None] += term * term

    return Workload(add_squares, loss, [x, y])
