"""Places that can be assigned to: variables, entries of them, and lists of places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, cast

from mlirad.errors import TaichiCompilationError, TaichiIndexError, TaichiTypeError
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.variables import Combine, Update, Variable
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value, check_swizzle, swizzle
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.types import u1

Subscript = Scalar | Matrix | list | tuple | None  # the expression in the brackets


class Place:
    """A location that a value can be read from and written to."""

    def load(self) -> Any:
        raise NotImplementedError

    def store(self, value: Any) -> None:
        raise NotImplementedError

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
        """Combine with a value; atomically if `kind` names an atomic. Returns the old value if it
        is known."""
        raise NotImplementedError

    def at(self, key: Subscript) -> Place:
        """The place of an entry."""
        raise TaichiTypeError("this value cannot be subscripted")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value; `()` for a scalar."""
        return ()

    def slice_at(self, key: Sequence[int | slice]) -> Place:
        """The place of a part, as `m[0, :]` names it."""
        if len(key) != len(self.shape):
            raise TaichiIndexError(f"Expected {len(self.shape)} indices, got {len(key)}")
        positions = [
            list(range(extent))[index] if isinstance(index, slice) else [index]
            for extent, index in zip(self.shape, key)
        ]
        places = [
            self.at(position if len(position) > 1 else position[0])
            for position in product(*positions)
        ]
        return PlaceList(
            places, tuple(len(p) for p, index in zip(positions, key) if isinstance(index, slice))
        )

    def variables(self) -> list[Variable] | None:
        """The local variables that hold the value; None if something else holds it."""
        return None

    def member(self, name: str) -> Any:
        """The place of a member, or a method as it is declared, or None."""
        return None

    def attribute(self, name: str) -> Any:
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

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
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
                    f"expected {count} values for the entries of a variable, got {len(values)}"
                )
            for k, entry in enumerate(values):
                variable.update_entry(k, operator, kind, entry)
        return before

    def _change(
        self, position: Expr, operator: Combine | None, kind: Update | None, value: Scalar
    ) -> None:
        for k in range(len(self.variable.slots)):
            self.variable.change_if(position == k, k, operator, kind, value)

    @property
    def shape(self) -> tuple[int, ...]:
        return (
            self.variable.shape if self.position is None and self.variable.shape is not None else ()
        )

    def at(self, key: Subscript) -> Place:
        if not self.shape:
            raise TaichiTypeError(
                "a scalar cannot be subscripted: an array is an argument of type "
                "ti.types.ndarray(), a field one of type ti.template()"
            )
        shape = Matrix.of_shape(self.shape, [0] * len(self.variable.slots))
        return VariablePlace(self.variable, shape.flat_index(tuple(flat_indices(key))))


def needs_static_index(kind: str, entries: Iterable[object]) -> TaichiTypeError:
    """Return the error for an entry of a Python object whose index is known only at run time."""
    are_numbers = all(ex.is_scalar(e) or isinstance(e, list | tuple | Place) for e in entries)
    cure = (
        "put the numbers into a field, or pass them as an argument of type "
        "ti.types.ndarray(); a short ti.Vector(...) takes any index"
        if are_numbers
        else "the index of a loop over ti.static(range(n)) is, and so is a parameter of type "
        "ti.template()"
    )
    return TaichiTypeError(
        f"a {kind} is a constant of the compiled kernel, so its index must be known at compile "
        f"time: {cure}"
    )


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

    def store(self, value: Value) -> None:
        for place, entry in zip(self.places, component_values(value, len(self.places))):
            place.store(entry)

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
        values = component_values(value, len(self.places))
        old = [place.update(operator, kind, entry) for place, entry in zip(self.places, values)]
        return Matrix.of_shape(self.shape, old)

    def at(self, key: Subscript) -> Place:
        numbers = Matrix.of_shape(self.shape, [0] * len(self.places)).flat_index(
            tuple(flat_indices(key))
        )
        return (
            self.places[numbers]
            if isinstance(numbers, int)
            else SelectedPlace(self.places, numbers)
        )


class SelectedPlace(Place):
    """A place among several places of scalars, by a number known only at run time."""

    def __init__(self, places: Sequence[Place], number: Expr) -> None:
        self.places, self.number = places, number

    def load(self) -> Any:
        value = self.places[0].load()
        for k, place in enumerate(self.places[1:], 1):
            value = ex.select(self.number == k, place.load(), value)
        return value

    def store(self, value: Value) -> None:
        self._change_selected(lambda place: place.store(value))

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
        before = Variable(self.load())
        self._change_selected(lambda place: before.store(place.update(operator, kind, value)))
        return before.load()

    def _change_selected(self, change: Callable[[Place], None]) -> None:
        for k, place in enumerate(self.places):
            if_op(ex.cast(self.number == k, u1).value, partial(change, place))


def component_values(value: Value | list | tuple, count: int) -> list[Any]:
    """The values for so many components: those of a vector or matrix, or a scalar for each. Raises
    TaichiTypeError for another number of them."""
    if isinstance(value, list | tuple):
        value = Matrix(value)
    values = [value] * count if ex.is_scalar(value) else list(value.entries)
    if len(values) != count:
        raise TaichiTypeError(f"{len(values)} values for {count} components")
    return values


class ValuePlace(Place):
    """A value without a place of its own: it can be read, and nothing else."""

    def __init__(self, value: Matrix) -> None:
        self.value: Any = value

    def load(self) -> Any:
        return self.value

    def store(self, value: Value) -> None:
        raise TaichiTypeError("this value cannot be assigned to")

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
        raise TaichiTypeError("this value cannot be updated")

    def at(self, key: Subscript) -> Place:
        return ValuePlace(self.value[key])


def variables_in(places: Iterable[Place]) -> list[Variable] | None:
    """The local variables that hold some values; None if something else holds one."""
    result: list[Variable] = []
    for place in places:
        variables = place.variables()
        if variables is None:
            return None
        result += variables
    return result


def flat_indices(key: Subscript) -> Iterator[Any]:
    """The indices of a subscript, those of vectors and tuples one by one."""
    if isinstance(key, Matrix):
        yield from key.entries
    elif isinstance(key, tuple | list):
        for index in key:
            yield from flat_indices(index)
    else:
        yield key


def indices_in(key: Subscript) -> list[Any]:
    """The indices of a subscript; none in `x[None]`."""
    indices = list(flat_indices(key))
    return [] if len(indices) == 1 and indices[0] is None else indices


def check_rank(name: str, rank: int, indices: Sequence[Any], components: int = 0) -> None:
    """Raise TaichiIndexError for a wrong number of indices."""
    if len(indices) != rank:
        raise TaichiIndexError(wrong_rank(name, rank, len(indices), components))


def wrong_rank(name: str, rank: int, count: int, components: int = 0) -> str:
    """Return what is wrong with this many indices of an array, and what to write instead; its
    elements may have axes of `components`."""
    axes = "1 index axis" if rank == 1 else f"{rank} index axes"
    indices = "1 index" if count == 1 else f"{count or 'no'} indices"
    element = f"{name}[{', '.join('ijklmnop'[:rank]) or 'None'}]"
    entry = f"{element}[{', '.join('rc'[:components])}]" if components else ""
    cure = f"{element} is an element" + (f", and {entry} is an entry of it" if entry else "")
    return f"{name} has {axes}, but is accessed with {indices}: {cure}"
