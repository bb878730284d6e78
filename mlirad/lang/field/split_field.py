"""Fields of vectors and matrices whose components are placed one by one: each is a field of its
own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.places.arrays import ComponentArrays
from mlirad.lang.field.access import FieldAccess, elements_of
from mlirad.lang.field.components import position_in
from mlirad.lang.field.field_group import FieldGroup
from mlirad.lang.host.element_arrays import LibraryCopies, OfElements
from mlirad.lang.host.host_values import array_of
from mlirad.lang.host.python_misuse import keeps_derivatives
from mlirad.lang.layout.placed_field import PlacedField, placed_field
from mlirad.lang.layout.tree import Leaf, SNode
from mlirad.lang.matrix import ElementMatrix
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind, tangent
from mlirad.runtime.memory.values import Values


@keeps_derivatives
class SplitField(FieldGroup, OfElements, LibraryCopies):
    """A field of vectors or matrices whose components, in row-major order, are fields of their
    own."""

    def __init__(
        self, symbol: str, components: Sequence[FieldAccess], element_shape: tuple[int, ...]
    ) -> None:
        self.symbol, self.parts, self.element_shape = symbol, tuple(components), element_shape
        self.program, self.dtype = components[0].program, components[0].dtype
        self.derived: dict[DerivativeKind, SplitField] = {}

    def __leaves__(self) -> list[Leaf]:
        return list(self.parts)

    @property
    def description(self) -> str:
        """Return what messages call it."""
        return f"field '{self.symbol}'"

    def check_shapes(self) -> None:
        """Raise TaichiRuntimeError if the components that have a place have not one shape."""
        shapes = {
            component.symbol: component.shape
            for component in self.parts
            if component.placed_in is not None
        }
        if len(set(shapes.values())) > 1:
            listed = ", ".join(f"'{name}' {shape}" for name, shape in shapes.items())
            raise TaichiRuntimeError(
                f"Members of the following field have different shapes: '{self.symbol}' ({listed})"
            )

    def get_scalar_field(self, *position: int) -> FieldAccess:
        """The field of a component."""
        where = position_in(self.element_shape, position)
        return self.parts[int(np.ravel_multi_index(where, self.element_shape))]

    # What programs ask.

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        self.check_shapes()
        return self.parts[0].shape

    @property
    def grad(self) -> SplitField | None:
        """The field of adjoints; None for integer fields and for gradients themselves."""
        is_primal = self.parts[0].primal is None
        return self.derivative(ADJOINT) if self.dtype.is_float and is_primal else None

    @property
    def dual(self) -> SplitField | None:
        """The field of tangents; None for integer fields and for tangents themselves."""
        first, count = self.parts[0], 1 + (tangent(1) in self.parts[0].derived)
        if not self.dtype.is_float or first.is_dual:
            return None
        first.program.derivatives.check_one_direction(f"field '{self.symbol}'", count)
        return self.derivative(tangent(0))

    def derivative(self, kind: DerivativeKind) -> SplitField:
        """The field of a derivative, of which each component is placed or not."""
        if kind not in self.derived:
            components = [component.derivative(kind) for component in self.parts]
            self.derived[kind] = SplitField(f"{self.symbol}.{kind}", components, self.element_shape)
        return self.derived[kind]

    @property
    def snode(self) -> PlacedField:
        """The first component as a leaf of its layout tree."""
        return placed_field(self.parts[0])

    def parent(self, n: int = 1) -> PlacedField | SNode | None:
        """The block `n` levels up from the first component."""
        return self.snode.parent(n)

    def loop_range(self) -> FieldAccess:
        """Return the array that a loop over the active elements visits: the first component."""
        return self.parts[0]

    # In kernels.

    def __kernel_ref__(self) -> ComponentArrays:
        """The arrays of the components inside a kernel."""
        self.check_shapes()
        components = [component.__kernel_ref__() for component in self.parts]
        return ComponentArrays(components, self.element_shape, self.symbol)

    # In Python.

    def __getitem__(self, key: object) -> Any:
        self.check_shapes()
        if self.parts[0].has_slices(key):
            return self._join([component[key] for component in self.parts])
        notes = [note for component in self.parts if (note := component.read_later()) is not None]
        note_read = (lambda: [note() for note in notes]) if notes else None

        def write(position: tuple[int, ...], value: object) -> None:
            self.get_scalar_field(*position)[key] = value

        entries = [component.element(key) for component in self.parts]
        return ElementMatrix(self.element_shape, entries, write, note_read)

    def __setitem__(self, key: object, value: object) -> None:
        for component, entry in zip(self.parts, self._split(value)):
            component[key] = entry

    def fill(self, value: Any) -> None:
        """Set every element, or every component of every element."""
        if in_kernel():
            self.__kernel_ref__().fill(value)
            return
        for component, entry in zip(self.parts, self._split(value)):
            component.fill(entry)

    def _split(self, value: object) -> list[Any]:
        """Numbers, or elements, as what the components take. Raises TaichiTypeError for those of
        another shape."""
        values = array_of(value, f"field '{self.symbol}'")
        if values.ndim == 0:
            return [value] * len(self.parts)
        axes = values.ndim - len(self.element_shape)
        if axes < 0 or values.shape[axes:] != self.element_shape:
            raise TaichiTypeError(
                f"expected a value of shape {self.element_shape}, got shape {values.shape}"
            )
        columns = values.reshape((*values.shape[:axes], -1))
        return [columns[..., k] if axes else columns[k].item() for k in range(len(self.parts))]

    def _join(self, components: Sequence[Values]) -> Values:
        """Elements of their components."""
        return np.stack(components, axis=-1).reshape((*components[0].shape, *self.element_shape))

    def to_numpy(
        self,
        keep_dims: bool = False,
        dtype: DTypeLike | None = None,
        *,
        copy: bool | None = True,
    ) -> Values:
        """A copy, of shape `shape + element_shape`; `keep_dims` makes vectors matrices of one
        column. Raises ValueError for `copy=False`: the components lie apart."""
        self.shared_array(copy)
        self.check_shapes()
        values = self._join([component.to_numpy(dtype=dtype) for component in self.parts])
        return values[..., np.newaxis] if keep_dims and len(self.element_shape) == 1 else values

    def from_numpy(self, values: object) -> None:
        """Set all elements. Raises ValueError if the shape is not `shape + element_shape`."""
        array = elements_of(values, self.shape, self.element_shape, f"field '{self.symbol}'")
        for component, entry in zip(self.parts, self._split(array)):
            component.from_numpy(entry)

    def copy_from(self, other: object) -> None:
        """Set all elements from a field or an ndarray of the same shape; a tape differentiates
        that.

        Raises ValueError for another shape, TypeError for what is neither.
        """
        if not isinstance(other, SplitField):
            self.program.trees.copy(self, other)
            return
        if (other.shape, other.element_shape) != (self.shape, self.element_shape):
            raise ValueError(f"copy_from: shapes {self.shape} and {other.shape} differ")
        for component, source in zip(self.parts, other.parts):
            component.copy_from(source)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __repr__(self) -> str:
        element = list(self.element_shape)
        return f"<ti.field '{self.symbol}' {self.dtype}{element}, component by component>"
