"""Arrays as kernels see them, and their elements: places in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, dim
from mlirad.dialect.field_layout import Activity
from mlirad.errors import TaichiIndexError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.building.open_regions import Region, refuse_use
from mlirad.frontend.python.building.regions import for_op
from mlirad.frontend.python.places.active_cells import activate
from mlirad.frontend.python.places.place import (
    Place,
    PlaceList,
    Subscript,
    check_rank,
    component_values,
    flat_indices,
    indices_in,
)
from mlirad.frontend.python.places.variables import (
    Combine,
    Update,
    atomic,
    cast_for_store,
    stop_marks,
)
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value, check_indices, shown_type
from mlirad.frontend.python.values.matrix_operators import Operand
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir import build
from mlirad.ir.ops import Arith
from mlirad.ir.walk import has_uses
from mlirad.types import DataType


class Array(ABC):
    """Arrays of elements that subscripts name: one array, or those of a struct's members."""

    name: str

    @abstractmethod
    def element(self, key: Subscript) -> Place:
        """The place that a subscript names."""

    @abstractmethod
    def fill(self, value: Value) -> None:
        """Store a value into every element."""

    @abstractmethod
    def leaves(self) -> Sequence[ArrayRef]:
        """The arrays in memory that hold the elements."""


class ArrayRef(Array, msgspec.Struct, metaclass=AbstractStruct):
    """An array as a kernel sees it: index axes first, then the components of its elements."""

    value: ir.Value
    dtype: DataType
    shape: tuple[Any, ...]
    element_shape: tuple[int, ...] = ()
    offset: tuple[int, ...] = ()
    name: str = ""
    component: tuple[int, ...] | None = None
    region: Region = msgspec.field(default_factory=lambda: current().root)
    activities: tuple[Activity, ...] = ()  # of the sparse blocks that hold it
    block: object = None  # whose cells hold the elements

    def element(self, key: Subscript) -> ElementPlace:
        fixed = None if self.component is None else tuple(build.index(c) for c in self.component)
        return ElementPlace(self, self.indices(key), fixed)

    def leaves(self) -> Sequence[ArrayRef]:
        return [self]

    def at(self, indices: Sequence[ir.Value]) -> ElementPlace:
        """The place of an element among those in memory, which begin with 0."""
        return ElementPlace(self, indices)

    def fill(self, value: Value) -> None:
        def nest(axis: int, indices: list[Expr]) -> None:
            if axis == len(self.shape):
                self.element(indices).store(value)
                return
            start = self.offset[axis] if self.offset else 0
            low, high = build.index(start), ex.as_index(self.shape[axis] + start)
            step = build.index(1)
            for_op(low, high, step, lambda i: nest(axis + 1, [*indices, ex.from_index(i)]))

        nest(0, [])

    def indices(self, key: Subscript) -> list[ir.Value]:
        """The `index` values of a subscript. Raises TaichiIndexError for a wrong rank."""
        if self.region is not current().root:
            refuse_use(self.region, ir.Location.unknown(), f"array '{self.name}'")
        indices = indices_in(key)
        if not any(self.offset) and any(isinstance(i, int) and i < 0 for i in indices):
            raise TaichiSyntaxError(
                "Negative indices are not supported in Taichi kernels. The last element is "
                "x[x.shape[0] - 1]"
            )
        check_rank(self.name or "array", len(self.shape), indices, len(self.element_shape))
        if any(self.offset):
            indices = [index - start for index, start in zip(indices, self.offset)]
        if not current().debug and not current().region.is_in_branch():
            self._check_constants(indices)
        return [ex.as_index(index) for index in indices]

    def _check_constants(self, indices: Sequence[Any]) -> None:
        """Raise TaichiIndexError for a constant that is outside a fixed shape. Not in a branch,
        which may never run, nor with `debug=True`, where launches report the access."""
        for axis, (index, extent) in enumerate(zip(indices, self.shape)):
            is_fixed = isinstance(index, int) and isinstance(extent, int)
            if is_fixed and not 0 <= index < extent:
                start = self.offset[axis] if self.offset else 0
                name = f"'{self.name}'" if self.name else "an array"
                raise TaichiIndexError(
                    f"index {index + start} is out of range: axis {axis} of {name} has the indices "
                    f"{start} to {start + extent - 1}"
                )

    def components(self, key: Subscript) -> tuple[ir.Value, ...]:
        """The `index` values of a subscript into an element. Raises TaichiIndexError for a wrong
        rank."""
        keys = check_indices(tuple(flat_indices(key)), self.element_shape)
        return tuple(ex.as_index(index) for index in keys)


def _difference(value: object) -> str:
    """Return why a value does not fit into an element, in words."""
    if array_ref(value) is not None:
        return "a whole field or array is not a number: its elements are x[i]"
    if isinstance(value, str):
        return "a kernel computes with numbers, and keeps texts for print only"
    if value is None:
        return "the function that was called returns no value here: give each path a return"
    return "shapes differ"


class ElementPlace(Place):
    """An element of an array, or one component of it."""

    def __init__(
        self,
        array: ArrayRef,
        indices: Sequence[ir.Value],
        component: tuple[ir.Value, ...] | None = None,
    ):
        self.array, self.indices, self.component = array, list(indices), component

    def _places(self) -> list[list[ir.Value]]:
        if self.component is not None:
            return [self.indices + list(self.component)]
        ranges = [range(extent) for extent in self.array.element_shape]
        return [
            self.indices + [build.index(c) for c in component] for component in product(*ranges)
        ]

    @property
    def _is_scalar(self) -> bool:
        return self.component is not None or not self.array.element_shape

    def _wrap(self, values: list[Expr]) -> Any:
        return values[0] if self._is_scalar else Matrix.of_shape(self.array.element_shape, values)

    def load(self) -> Any:
        array, dtype = self.array.value, self.array.dtype
        marks = stop_marks(array)
        return self._wrap(
            [Expr(effects.load(array, place, marks), dtype) for place in self._places()]
        )

    def _entries(self, value: Operand) -> list[Expr]:
        count = 1 if self._is_scalar else prod(self.array.element_shape)
        if isinstance(value, list | tuple):
            value = Matrix(value)
        if ex.is_scalar(value):
            values = [value] * count
        elif isinstance(value, Matrix) and not self._is_scalar and len(value.entries) == count:
            values = value.entries
        else:
            actual = type(value).__name__
            if isinstance(value, Matrix):
                actual = shown_type(value.shape, ex.dtype_of(value.entries[0]))
            expected = shown_type(self.shape, self.array.dtype)
            reason = _difference(value)
            if isinstance(value, Matrix) and self._is_scalar:
                reason += ": a.dot(b), a.norm(), and a[0] are scalars"
            raise TaichiTypeError(f"cannot assign '{actual}' to '{expected}': {reason}")
        return [cast_for_store(v, self.array.dtype) for v in values]

    def store(self, value: Value) -> None:
        activate(self.array.activities, self.indices)
        for entry, place in zip(self._entries(value), self._places()):
            effects.store(entry.value, self.array.value, place)

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
        if kind is None:
            before = self.load()
            self.store(operator(before, value))
            return before
        activate(self.array.activities, self.indices)
        return self._wrap(
            [
                atomic(self.array.value, place, self.array.dtype, kind, entry)
                for entry, place in zip(self._entries(value), self._places())
            ]
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self._is_scalar else self.array.element_shape

    def at(self, key: Subscript) -> Place:
        if self._is_scalar:
            raise TaichiTypeError("a scalar element cannot be subscripted")
        return ElementPlace(self.array, self.indices, self.array.components(key))


class ComponentArrays(Array, msgspec.Struct, metaclass=AbstractStruct):
    """Arrays of one shape whose elements at an index make up a vector or a matrix."""

    arrays: Sequence[Array]
    element_shape: tuple[int, ...]
    name: str

    def element(self, key: Subscript) -> PlaceList:
        return PlaceList([array.element(key) for array in self.arrays], self.element_shape)

    def fill(self, value: Value) -> None:
        for array, entry in zip(self.arrays, component_values(value, len(self.arrays))):
            array.fill(entry)

    def leaves(self) -> Sequence[ArrayRef]:
        return [leaf for array in self.arrays for leaf in array.leaves()]


def array_ref(value: object) -> Array | None:
    """The array behind a field, an ndarray argument or a gradient of one; None for anything
    else."""
    if isinstance(value, Array):
        return value
    make = getattr(type(value), "__kernel_ref__", None)
    return None if make is None else make(value)


def extent(array: ir.Value, axis: int) -> Expr:
    """An extent of an ndarray argument."""
    return ex.from_index(dim(array, axis))


def drop_unused_extents(array: ir.Value) -> bool:
    """Remove the extents of an array argument if nothing else of it is used, and nothing uses them;
    whether there are no uses left."""
    dims = [use.owner for use in array.uses]
    if not all(map(DimOp.holds, dims)):
        return False
    casts = [use.owner for op in dims for use in op.results[0].uses]
    if any(op.name != Arith.INDEX_CAST or has_uses(op.results[0]) for op in casts):
        return False
    for op in (*casts, *dims):
        op.erase()
    return True
