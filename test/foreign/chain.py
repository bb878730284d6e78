"""A program of two kernels, which overwrite what they need, and what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti


class Chain:
    """`h = w sin x`, then `h = h^2` in place; `y = sum(h)`, `z = h w`."""

    def __init__(self, dtype: Any = ti.f64) -> None:
        def declare(shape: Any) -> Any:
            return ti.field(dtype, shape, needs_grad=True)

        self.x, self.w, self.hidden = declare(3), declare(1), declare(3)
        self.y, self.z = declare(()), declare(3)

    def run(self) -> None:
        """Launch both."""
        begin(self.x, self.w, self.hidden)
        end(self.w, self.hidden, self.y, self.z)

    def expected(self, x: Any, w: Any, numpy: Any = np) -> tuple[Any, Any]:
        """The same by NumPy, or by JAX's."""
        hidden = (w * numpy.sin(x)) ** 2
        return hidden.sum(), hidden * w


@ti.kernel
def begin(x: ti.template(), w: ti.template(), hidden: ti.template()):
    for i in x:
        hidden[i] = w[0] * ti.sin(x[i])


@ti.kernel
def end(w: ti.template(), hidden: ti.template(), y: ti.template(), z: ti.template()):
    for i in hidden:
        hidden[i] *= hidden[i]
        y[None] += hidden[i]
        z[i] = hidden[i] * w[0]
