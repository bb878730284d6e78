"""Ndarray arguments inside a kernel, and the bounds of their indices."""

from __future__ import annotations

from math import prod

from mlirad.bindings import ir
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.regions import clamp
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.places.place import Subscript, flat_indices
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import check_indices
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir import build
from mlirad.kernel.axis_order import Layout, in_memory_order


class ArrayArgument(ArrayRef):
    """An ndarray argument inside a kernel, whose axes may lie in memory in another order."""

    gradient: ArrayArgument | None = None
    layout: Layout | None = None

    def indices(self, key: Subscript) -> list[ir.Value]:
        """The `index` values of a subscript, in the order of the axes in memory."""
        return list(in_memory_order(super().indices(key), self.layout))

    @property
    def grad(self) -> ArrayArgument:
        """The gradient. Raises TaichiTypeError if there is none."""
        if self.gradient is None:
            raise TaichiTypeError(
                f"the array passed as '{self.name}' has no gradient here: create it by "
                "ti.ndarray(..., needs_grad=True), and do not annotate the parameter with "
                "needs_grad=False"
            )
        return self.gradient

    @property
    def n(self) -> int:
        """Rows of an element."""
        return self.element_shape[0]


class ClampedArray(ArrayArgument):
    """An ndarray argument whose indices are moved to the nearest element, and those into an element
    to the nearest component."""

    def indices(self, key: Subscript) -> list[ir.Value]:
        return [
            clamp(index, ex.as_index(extent))
            for index, extent in zip(super().indices(key), in_memory_order(self.shape, self.layout))
        ]

    def components(self, key: Subscript) -> tuple[ir.Value, ...]:
        """Move the position of a matrix in row-major order, as in Taichi."""
        indices, shape = tuple(flat_indices(key)), self.element_shape
        if not any(isinstance(index, Expr) for index in indices):
            return super().components(key)
        constants = check_indices([0 if isinstance(i, Expr) else i for i in indices], shape)
        indices = tuple(i if isinstance(i, Expr) else c for i, c in zip(indices, constants))
        position = indices[0] if len(indices) == 1 else indices[0] * shape[1] + indices[1]
        near = clamp(ex.as_index(position), build.index(prod(shape)))
        if len(indices) == 1:
            return (near,)
        flat = ex.from_index(near)
        return ex.as_index(flat // shape[1]), ex.as_index(flat % shape[1])
