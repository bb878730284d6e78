"""Choices of how a definition is computed: `te.Schedule`, and what `te.build` writes of it into
IR."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NoReturn

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import SourceLocation, TaichiTypeError
from mlirad.ir.marks.axis_choices import AxisChoice, set_choices
from mlirad.ir.walk import block_operations, constant_integer
from mlirad.te.definitions.arguments import check_fields
from mlirad.te.expressions import INDEX, Axis, Extent, Size
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

AxisName = str | Axis
Axes = tuple[tuple[str, Axis], ...]
_MOST_WRITTEN_OUT = 256
_LARGEST_TILE = 1 << 31


@dataclass(frozen=True, eq=False)
class Schedule:
    """A schedule for a definition, which replaces the one that the compiler would choose. The
    results are the same, except for the order of sums.

    Name an axis as the function of the definition names it (`"j"`), or pass the axis itself. A
    reduction axis is named by its own name, or by the variable that holds it.

    Args:
        tile: the number of values of each axis in a tile: of registers for sums of products, of
            loops otherwise.
        lanes: the axis along which vectors are formed.
        unroll: the axes that are unrolled.
        parallel: the axes that threads share; no other axis of the definition is shared.
    """

    tile: Mapping[AxisName, int] = field(default_factory=dict)
    lanes: AxisName | None = None
    unroll: Sequence[AxisName] = ()
    parallel: Sequence[AxisName] | None = None
    place: SourceLocation = field(default_factory=place)

    def __post_init__(self) -> None:
        check_fields(self)


def names_in(element: Callable[..., object]) -> dict[str, Axis]:
    """The variables of a function that hold reduction axes."""
    code = getattr(element, "__code__", None)
    if code is None:
        return {}
    closure = inspect.getclosurevars(element)
    variables = {**closure.globals, **closure.nonlocals}
    return {name: value for name, value in variables.items() if isinstance(value, Axis)}


def name_axes(axes: Iterable[Axis], variables: Mapping[str, Axis]) -> Axes:
    """Axes with names that tell them apart."""
    axes_by_name: dict[str, Axis] = {}
    for axis in axes:
        variable_names = [name for name, variable in variables.items() if variable is axis]
        tries = [
            *variable_names,
            axis.name,
            *(f"{axis.name}{number}" for number in range(len(axes_by_name) + 1)),
        ]
        axes_by_name[next(name for name in tries if name not in axes_by_name)] = axis
    return tuple(axes_by_name.items())


def set_schedule(op: ir.Operation, tensor: Tensor, schedule: Schedule | None) -> None:
    """Write the names of a definition's axes, and a schedule, on its op. Raises TaichiTypeError for
    a schedule that is none of this definition."""
    if schedule is not None and not te.ComputeOp.holds(op):
        raise TaichiTypeError(
            f"build: schedule: tensor '{tensor.name}' is not defined by te.compute, so it takes "
            "no schedule",
            schedule.place,
        )
    if not te.ComputeOp.holds(op):
        return
    asked = schedule or Schedule()
    reduces = [inner for inner in block_operations(te.body_of(op)) if te.is_reduce(inner)]
    choices = _Choices(tensor, asked, tensor.axes or _axes_of(tensor, reduces)).all()
    set_choices(op, choices[: tensor.ndim])
    for inner in reduces:
        set_choices(inner, choices[tensor.ndim :])
    if schedule is not None:
        op.attributes[te.KEPT] = ir.UnitAttr.get()


def _axes_of(tensor: Tensor, reduces: Sequence[ir.Operation]) -> Axes:
    """The axes of a definition that passes have made, and which have no names: i0, i1 and so on,
    and k0, k1 and so on."""
    axes = [Axis(INDEX, f"i{number}", extent) for number, extent in enumerate(tensor.shape)]
    for reduce in reduces[:1]:
        for number, (low, high) in enumerate(te.bounds_of(reduce)):
            first, last = constant_integer(low), constant_integer(high)
            unknown = first is None or last is None
            extent: Extent = Size(INDEX, "n") if unknown else (last or 0) - (first or 0)
            axes.append(Axis(INDEX, f"k{number}", extent, is_reduced=True))
    return tuple((axis.name, axis) for axis in axes)


class _Choices:
    """A schedule, axis by axis."""

    def __init__(self, tensor: Tensor, schedule: Schedule, axes: Axes) -> None:
        self.tensor, self.schedule, self.axes = tensor, schedule, axes
        self.names = [name for name, _ in axes]

    def all(self) -> list[AxisChoice]:
        """Return the choices for the tensor's own axes, then for those that it reduces."""
        asked, rank = self.schedule, self.tensor.ndim
        tiles = {self._number("tile", axis): self._tile(size) for axis, size in asked.tile.items()}
        if len(tiles) < len(asked.tile):
            self._refuse("tile", "an axis is named twice")
        lanes = None if asked.lanes is None else self._number("lanes", asked.lanes)
        written_out = [self._number("unroll", axis) for axis in asked.unroll]
        shared = list(range(rank))
        if asked.parallel is not None:
            shared = [self._number("parallel", axis) for axis in asked.parallel]
        for number in shared:
            if number >= rank:
                why = f"axis '{self.names[number]}' is a reduction axis, so threads cannot share it"
                self._refuse("parallel", why)
        self._check(written_out, lanes)
        return [
            AxisChoice(
                name,
                tiles.get(number, 0),
                number == lanes,
                number in written_out,
                number < rank and number not in shared,
            )
            for number, name in enumerate(self.names)
        ]

    def _number(self, argument: str, axis: AxisName) -> int:
        for number, (name, candidate) in enumerate(self.axes):
            if axis is candidate or (isinstance(axis, str) and axis in (name, candidate.name)):
                return number
        spelling = axis.name if isinstance(axis, Axis) else axis
        names = ", ".join(self.names) or "none"
        self._refuse(argument, f"no axis '{spelling}': axes of '{self.tensor.name}' are {names}")

    def _tile(self, size: int) -> int:
        if not 1 <= size <= _LARGEST_TILE:
            self._refuse("tile", f"a tile has {size} iterations, expected 1 to {_LARGEST_TILE}")
        return size

    def _check(self, written_out: Sequence[int], lanes: int | None) -> None:
        if lanes is not None and lanes in written_out:
            why = f"axis '{self.names[lanes]}' is unrolled, so it has no lanes"
            self._refuse("unroll and lanes", why)
        extents = [self.axes[number][1].extent for number in written_out]
        for number, extent in zip(written_out, extents):
            if not isinstance(extent, int):
                why = f"axis '{self.names[number]}' is unrolled, but its size is not known"
                self._refuse("unroll", why)
        count = prod(extent for extent in extents if isinstance(extent, int))
        if count > _MOST_WRITTEN_OUT:
            why = f"{count} points are unrolled, expected at most {_MOST_WRITTEN_OUT}"
            self._refuse("unroll", why)

    def _refuse(self, argument: str, why: str) -> NoReturn:
        raise TaichiTypeError(
            f"Schedule: {argument}: the schedule of '{self.tensor.name}': {why}",
            self.schedule.place,
        )
