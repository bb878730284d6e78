"""Ndarray arguments inside a kernel, and where their indices may point."""

from __future__ import annotations

from math import prod

from mlirad.bindings import ir
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.builder import index_constant
from mlirad.frontend.python.building.regions import clamped
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.places.place import Subscript, flat_parts
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import check_indices
from mlirad.frontend.python.values.scalar import Expr


class ArrayArgument(ArrayRef):
    """An ndarray argument inside a kernel."""

    gradient: ArrayArgument | None = None

    @property
    def grad(self) -> ArrayArgument:
        """Its gradient. Raises TaichiTypeError where it has none."""
        if self.gradient is None:
            raise TaichiTypeError(
                f"the array passed as '{self.name}' has no gradient here: it needs "
                "ti.ndarray(..., needs_grad=True), and an annotation without needs_grad=False"
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
            clamped(index, ex.as_index(extent))
            for index, extent in zip(super().indices(key), self.shape)
        ]

    def components(self, key: Subscript) -> tuple[ir.Value, ...]:
        """Of a matrix, the position in row-major order is moved, as in Taichi."""
        parts, shape = tuple(flat_parts(key)), self.element_shape
        if not any(isinstance(part, Expr) for part in parts):
            return super().components(key)
        known = check_indices([0 if isinstance(part, Expr) else part for part in parts], shape)
        where = [part if isinstance(part, Expr) else index for index, part in zip(known, parts)]
        position = where[0] if len(where) == 1 else where[0] * shape[1] + where[1]
        near = clamped(ex.as_index(position), index_constant(prod(shape)))
        if len(where) == 1:
            return (near,)
        flat = ex.from_index(near)
        return ex.as_index(flat // shape[1]), ex.as_index(flat % shape[1])
