"""What can stand on the left of an assignment: variables, elements of arrays, and entries of
both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, cast

from mlirad.bindings import ir
from mlirad.dialect.field import dim
from mlirad.dialect.field_layout import Activity
from mlirad.errors import (
    TaichiCompilationError,
    TaichiIndexError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from mlirad.frontend.python import effects
from mlirad.frontend.python import scalar as ex
from mlirad.frontend.python.active_cells import activate
from mlirad.frontend.python.builder import (
    current,
    index_constant,
)
from mlirad.frontend.python.matrix import (
    Matrix,
    Value,
    check_indices,
    check_swizzle,
    shown_type,
    swizzle,
)
from mlirad.frontend.python.matrix_operators import Operand
from mlirad.frontend.python.open_regions import Region, refuse_use
from mlirad.frontend.python.regions import for_op
from mlirad.frontend.python.scalar import Expr, Scalar
from mlirad.frontend.python.variables import Combine, Variable, atomic, stop_marks, stored
from mlirad.types import DataType

Subscript = Scalar | Matrix | list | tuple | None  # what stands in the brackets


class Array(ABC):
    """What is subscripted to get at elements: one array, or those of a struct's members."""

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


@dataclass
class ArrayRef(Array):
    """An array as a kernel sees it: index axes first, then the components of its elements."""

    value: ir.Value
    dtype: DataType
    shape: tuple[Any, ...]
    element_shape: tuple[int, ...] = ()
    offset: tuple[int, ...] = ()
    name: str = ""
    component: tuple[int, ...] | None = None
    region: Region = field(default_factory=lambda: current().root)
    activities: tuple[Activity, ...] = ()  # of the sparse blocks that hold it
    block: object = None  # whose cells hold the elements

    def element(self, key: Subscript) -> ElementPlace:
        fixed = None if self.component is None else tuple(index_constant(c) for c in self.component)
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
            low, high = index_constant(start), ex.as_index(self.shape[axis] + start)
            step = index_constant(1)
            for_op(low, high, step, lambda i: nest(axis + 1, [*indices, ex.from_index(i)]))

        nest(0, [])

    def indices(self, key: Subscript) -> list[ir.Value]:
        """The `index` values of a subscript. Raises TaichiIndexError for a wrong rank."""
        if self.region is not current().root:
            refuse_use(self.region, ir.Location.unknown(), f"array '{self.name}'")
        parts = list(flat_parts(key))
        if len(parts) == 1 and parts[0] is None:
            parts = []
        if not any(self.offset) and any(isinstance(part, int) and part < 0 for part in parts):
            raise TaichiSyntaxError("Negative indices are not supported in Taichi kernels.")
        if len(parts) != len(self.shape):
            raise TaichiIndexError(
                f"{self.name or 'array'} has {len(self.shape)} index axes, but is accessed with "
                f"{len(parts)} indices"
            )
        if any(self.offset):
            parts = [part - start for part, start in zip(parts, self.offset)]
        return [ex.as_index(part) for part in parts]

    def components(self, key: Subscript) -> tuple[ir.Value, ...]:
        """The `index` values of a subscript into an element. Raises TaichiIndexError for a wrong
        rank."""
        keys = check_indices(tuple(flat_parts(key)), self.element_shape)
        return tuple(ex.as_index(index) for index in keys)


def flat_parts(key: Subscript) -> Iterator[Any]:
    """What stands in the brackets, vectors and tuples part by part."""
    if isinstance(key, Matrix):
        yield from key.entries
    elif isinstance(key, tuple | list):
        for part in key:
            yield from flat_parts(part)
    else:
        yield key


def array_ref(value: object) -> Array | None:
    """The array behind a field, an ndarray argument or a gradient of one; None for anything
    else."""
    if isinstance(value, Array):
        return value
    make = getattr(type(value), "__kernel_ref__", None)
    return None if make is None else make(value)


class Place:
    """Somewhere a value can be read from and written to."""

    def load(self) -> Any:
        raise NotImplementedError

    def store(self, value: Any) -> None:
        raise NotImplementedError

    def update(self, operator: Combine, kind: str | None, value: Value) -> Any:
        """Combine with a value; atomically where `kind` names an atomic. Gives the value before,
        where known."""
        raise NotImplementedError

    def at(self, key: Subscript) -> Place:
        """The place of an entry."""
        raise TaichiTypeError("this value cannot be subscripted")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value; `()` for a scalar."""
        return ()

    def sliced(self, key: Sequence[int | slice]) -> Place:
        """The place of a part, as `m[0, :]` names it."""
        if len(key) != len(self.shape):
            raise TaichiIndexError(f"Expected {len(self.shape)} indices, got {len(key)}")
        positions = [
            list(range(extent))[part] if isinstance(part, slice) else [part]
            for extent, part in zip(self.shape, key)
        ]
        places = [self.at(index if len(index) > 1 else index[0]) for index in product(*positions)]
        return PlaceList(
            places, tuple(len(p) for p, part in zip(positions, key) if isinstance(part, slice))
        )

    def variables(self) -> list[Variable] | None:
        """The local variables that the value lies in; None where it lies elsewhere."""
        return None

    def named(self, name: str) -> Any:
        """The place of a member, or a method as it is declared, or None."""
        return None

    def components(self, name: str) -> Any:
        """The place of a swizzle like `xy`, or of a member, or a method, or None."""
        if name == "fill" and self.shape:
            return self.store
        positions = swizzle(name)
        if positions is None or len(self.shape) != 1:
            return None
        check_swizzle(name, positions, self.shape[0])
        places = [self.at(p) for p in positions]
        return places[0] if len(places) == 1 else PlaceList(places)


class VariablePlace(Place):
    """A local variable, or one entry of it (`position`, which may be known only at run time)."""

    def __init__(self, variable: Variable, position: int | Expr | None = None) -> None:
        self.variable, self.position = variable, position

    def variables(self) -> list[Variable]:
        return [self.variable]

    def load(self) -> Any:
        if self.position is None:
            return self.variable.load()
        if isinstance(self.position, int):
            return self.variable.read_entry(self.position)
        value: Any = self.variable.read_entry(0)
        for k in range(1, len(self.variable.slots)):
            value = ex.select(self.position == k, self.variable.read_entry(k), value)
        return value

    def store(self, value: Value) -> None:
        if isinstance(self.position, int):
            self.variable.write_entry(self.position, cast(Scalar, value))
        elif self.position is not None:
            self._change(self.position, None, None, cast(Scalar, value))
        else:
            self.variable.store(value)

    def update(self, operator: Combine, kind: str | None, value: Value) -> Any:
        before, variable = self.load(), self.variable
        if isinstance(self.position, int):
            variable.update_entry(self.position, operator, kind, cast(Scalar, value))
        elif self.position is not None:
            self._change(self.position, operator, kind, cast(Scalar, value))
        else:
            count = len(variable.slots)
            values = value.entries if isinstance(value, Matrix) else [value] * count
            if len(values) != count:
                raise TaichiCompilationError(
                    f"{len(values)} values for a variable of {count} entries"
                )
            for k, entry in enumerate(values):
                variable.update_entry(k, operator, kind, entry)
        return before

    def _change(
        self, position: Expr, operator: Combine | None, kind: str | None, value: Scalar
    ) -> None:
        for k in range(len(self.variable.slots)):
            self.variable.change_where(position == k, k, operator, kind, value)

    @property
    def shape(self) -> tuple[int, ...]:
        return (
            self.variable.shape if self.position is None and self.variable.shape is not None else ()
        )

    def at(self, key: Subscript) -> Place:
        if not self.shape:
            raise TaichiTypeError("a scalar cannot be subscripted")
        shape = Matrix.of_shape(self.shape, [0] * len(self.variable.slots))
        return VariablePlace(self.variable, shape.flat_index(tuple(flat_parts(key))))


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
            self.indices + [index_constant(c) for c in component] for component in product(*ranges)
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
            given = type(value).__name__
            if isinstance(value, Matrix):
                given = shown_type(value.shape, ex.dtype_of(value.entries[0]))
            expected = shown_type(self.shape, self.array.dtype)
            raise TaichiTypeError(f"cannot assign '{given}' to '{expected}': shapes differ")
        return [stored(v, self.array.dtype) for v in values]

    def store(self, value: Value) -> None:
        activate(self.array.activities, self.indices)
        for entry, place in zip(self._entries(value), self._places()):
            effects.store(entry.value, self.array.value, place)

    def update(self, operator: Combine, kind: str | None, value: Value) -> Any:
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


class PlaceList(Place):
    """Several places that are read and written as a vector, or as a matrix of a shape."""

    def __init__(self, places: Sequence[Place], shape: tuple[int, ...] | None = None) -> None:
        self.places = list(places)
        self._shape = (len(self.places),) if shape is None else shape

    def variables(self) -> list[Variable] | None:
        return variables_in(self.places)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def load(self) -> Any:
        return Matrix.of_shape(self.shape, [place.load() for place in self.places])

    def _values(self, value: Value | list | tuple) -> list[Any]:
        if isinstance(value, list | tuple):
            value = Matrix(value)
        values = [value] * len(self.places) if ex.is_scalar(value) else list(value.entries)
        if len(values) != len(self.places):
            raise TaichiTypeError(f"{len(values)} values for {len(self.places)} components")
        return values

    def store(self, value: Value) -> None:
        for place, entry in zip(self.places, self._values(value)):
            place.store(entry)

    def update(self, operator: Combine, kind: str | None, value: Value) -> Any:
        values = self._values(value)
        old = [place.update(operator, kind, entry) for place, entry in zip(self.places, values)]
        return Matrix.of_shape(self.shape, old)

    def at(self, key: Subscript) -> Place:
        numbers = Matrix.of_shape(self.shape, [0] * len(self.places)).flat_index(
            tuple(flat_parts(key))
        )
        if not isinstance(numbers, int):
            raise TaichiTypeError("a component is selected by a constant here")
        return self.places[numbers]


def variables_in(places: Iterable[Place]) -> list[Variable] | None:
    """The local variables that values lie in; None where one lies elsewhere."""
    found: list[Variable] = []
    for place in places:
        variables = place.variables()
        if variables is None:
            return None
        found += variables
    return found


class ValuePlace(Place):
    """A value without a place of its own: it can be read, and nothing else."""

    def __init__(self, value: Matrix) -> None:
        self.value: Any = value

    def load(self) -> Any:
        return self.value

    def store(self, value: Value) -> None:
        raise TaichiTypeError("this value cannot be assigned to")

    def update(self, operator: Combine, kind: str | None, value: Value) -> Any:
        raise TaichiTypeError("this value cannot be updated")

    def at(self, key: Subscript) -> Place:
        return ValuePlace(self.value[key])


def extent(array: ir.Value, axis: int) -> Expr:
    """An extent of an ndarray argument."""
    return ex.from_index(dim(array, axis))
