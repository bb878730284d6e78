"""Which elements a launch writes and which its reverse reads: boxes, for the arguments of that
launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlirad.bindings import ir
from mlirad.ir.location import source_location

Box = tuple[tuple[int | None, int | None], ...]  # first and last index an axis
Bound = tuple[int, ...]


@dataclass(frozen=True)
class Footprint:
    """One access: its array (a field's name, or the number of an argument) and the bounds of its
    box."""

    array: str | int
    place: str
    bounds: tuple[tuple[Bound, Bound], ...]
    box: Callable[
        [Sequence[Any]], Box
    ]  # for the arguments of a launch, by their number in the kernel


@dataclass(frozen=True)
class Flow:
    """An array that gets floats made of others, and where.

    An array is a field's name, the number of an argument, or, of a launch, whatever stands for its
    array argument.
    """

    target: Any
    place: str
    sources: tuple[Any, ...]

    def renamed(self, names: Mapping[Any, Any]) -> Flow:
        """The same with names for the numbers of arguments; without the sources that have none."""
        sources = [
            source if isinstance(source, str) else names.get(source) for source in self.sources
        ]
        return Flow(
            names.get(self.target, self.target),
            self.place,
            tuple(s for s in sources if s is not None),
        )


@dataclass(frozen=True)
class Flows:
    """How derivatives pass through a kernel."""

    between: tuple[Flow, ...]
    results: tuple[str | int, ...]  # the arrays of whose floats its results are made


@dataclass(frozen=True)
class Footprints:
    """The accesses of a kernel that matter to a tape."""

    needed: tuple[Footprint, ...]
    active: tuple[Footprint, ...]  # reads of array arguments through which derivatives pass
    written: tuple[Footprint, ...]
    redone: frozenset[str | int]  # arrays that the reverse wants as they were before the launch
    verdicts: tuple[str, ...]
    flows: Flows  # between arrays, and to results


def _footprint(array: str | int, place: str, bounds: tuple[tuple[Bound, Bound], ...]) -> Footprint:
    """A footprint whose box is evaluated by code of its own: a tape does so at every launch."""
    axes = "".join(f"({_code(low)}, {_code(high)}), " for low, high in bounds)
    return Footprint(array, place, bounds, eval(f"lambda a: ({axes})"))


def _code(bound: Bound) -> str:
    """A bound as Python of integers and arguments `a[n]`."""
    if not bound:
        return "None"
    return " + ".join(
        [str(bound[0]), *(f"{factor} * a[{n}]" for n, factor in zip(bound[1::2], bound[2::2]))]
    )


def _merged(found: list[Footprint]) -> tuple[Footprint, ...]:
    """Footprints of one array that differ along one axis, by constants, as one: the components of
    vectors."""
    merged: list[Footprint] = []
    for new in found:
        for position, old in enumerate(merged):
            bounds = _union(old.bounds, new.bounds) if old.array == new.array else None
            if bounds is not None:
                merged[position] = _footprint(old.array, old.place, bounds)
                break
        else:
            merged.append(new)
    return tuple(merged)


def _union(
    left: tuple[tuple[Bound, Bound], ...], right: tuple[tuple[Bound, Bound], ...]
) -> tuple[tuple[Bound, Bound], ...] | None:
    different = [axis for axis, (a, c) in enumerate(zip(left, right)) if a != c]
    if not different:
        return left
    axis = different[0]
    ends = [*left[axis], *right[axis]]
    if len(different) > 1 or any(len(bound) != 1 for bound in ends):
        return None
    (low, high), (first, last) = [(a[0], c[0]) for a, c in (left[axis], right[axis])]
    if first > high + 1 or low > last + 1:
        return None
    return (*left[:axis], ((min(low, first),), (max(high, last),)), *left[axis + 1 :])


def read_footprints(module: ir.Module, name: str) -> Footprints:
    """The footprints and verdicts noted on a kernel by `mark-footprints` and
    `check-access-rules`."""
    found: dict[str, list[Footprint]] = {"needed": [], "active": [], "written": []}
    attributes = module.operation.attributes
    for note in (
        ir.ArrayAttr(attributes["field.footprints"]) if "field.footprints" in attributes else []
    ):
        entry = ir.DictAttr(note)
        array = _array(entry["array"])
        bounds = tuple(
            (tuple(ir.DenseI64ArrayAttr(pair[0])), tuple(ir.DenseI64ArrayAttr(pair[1])))
            for pair in map(ir.ArrayAttr, ir.ArrayAttr(entry["box"]))
        )
        text = ir.StringAttr(entry["place"]).value
        found[ir.StringAttr(entry["access"]).value].append(_footprint(array, _place(text), bounds))
    redone: set[str | int] = set()
    verdicts: list[str] = []
    for op in module.body.operations:
        if (
            "grad.redone" in op.attributes
            and ir.StringAttr(op.attributes["sym_name"]).value == name
        ):
            for item in ir.ArrayAttr(op.attributes["grad.redone"]):
                redone.add(_array(item))
            verdicts = [
                ir.StringAttr(item).value for item in ir.ArrayAttr(op.attributes["grad.verdicts"])
            ]
    return Footprints(
        _merged(found["needed"]),
        _merged(found["active"]),
        _merged(found["written"]),
        frozenset(redone),
        tuple(verdicts),
        read_flows(module),
    )


def read_flows(module: ir.Module) -> Flows:
    """The flows noted by `mark-flows`."""
    attributes, flows = module.operation.attributes, []
    for item in ir.ArrayAttr(attributes["field.flows"]) if "field.flows" in attributes else []:
        target, place, *sources = ir.ArrayAttr(item)
        flows.append(
            Flow(_array(target), _place(ir.StringAttr(place).value), tuple(map(_array, sources)))
        )
    if "field.results" not in attributes:
        return Flows(tuple(flows), ())
    results = ir.ArrayAttr(attributes["field.results"])
    return Flows(tuple(flows), tuple(map(_array, results)))


def _array(attribute: ir.Attribute) -> str | int:
    """A field's name, or the number of an argument."""
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return ir.FlatSymbolRefAttr(attribute).value
    return ir.IntegerAttr(attribute).value


def _place(text: str) -> str:
    place = source_location(text)
    return "" if place is None else str(place)


def meet(left: Box, right: Box) -> bool:
    """Whether two boxes of one array may share an element."""
    for (low, high), (first, last) in zip(left, right):
        if (high is not None and first is not None and high < first) or (
            low is not None and last is not None and last < low
        ):
            return False
    return True


class Region:
    """The union of boxes, kept short: boxes that line up along one axis become one, many become
    their hull."""

    LIMIT = 32

    def __init__(self) -> None:
        self.boxes: list[Box] = []

    def add(self, box: Box) -> None:
        """Include a box."""
        if self.boxes and self.boxes[-1] == box:
            return
        for position in range(len(self.boxes) - 1, -1, -1):
            joined = _join(self.boxes[position], box)
            if joined is not None:
                self.boxes[position] = joined
                return
        self.boxes.append(box)
        if len(self.boxes) > self.LIMIT:
            self.boxes = [hull(self.boxes)]

    def drop(self, box: Box) -> None:
        """Leave out what lies in a box."""
        self.boxes = [own for own in self.boxes if not _lies_in(own, box)]

    def meets(self, box: Box) -> bool:
        """Whether the union may share an element with a box."""
        return any(meet(own, box) for own in self.boxes)


def _lies_in(inner: Box, outer: Box) -> bool:
    for (low, high), (first, last) in zip(inner, outer):
        if (first is not None and (low is None or low < first)) or (
            last is not None and (high is None or high > last)
        ):
            return False
    return True


def _join(left: Box, right: Box) -> Box | None:
    """The union of two boxes where it is a box."""
    different = [axis for axis, (a, c) in enumerate(zip(left, right)) if a != c]
    if not different:
        return left
    if len(different) > 1:
        return None
    axis = different[0]
    (low, high), (first, last) = left[axis], right[axis]
    if low is None or high is None or first is None or last is None:
        joined: tuple[int | None, int | None] = (None, None)
    elif first > high + 1 or low > last + 1:
        return None
    else:
        joined = (min(low, first), max(high, last))
    return (*left[:axis], joined, *left[axis + 1 :])


def hull(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds some boxes."""
    axes = []
    for pairs in zip(*boxes):
        lows, highs = [p[0] for p in pairs], [p[1] for p in pairs]
        known_lows, known_highs = (
            [v for v in lows if v is not None],
            [v for v in highs if v is not None],
        )
        axes.append(
            (
                min(known_lows) if len(known_lows) == len(lows) else None,
                max(known_highs) if len(known_highs) == len(highs) else None,
            )
        )
    return tuple(axes)
