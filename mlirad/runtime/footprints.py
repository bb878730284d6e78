"""Elements that a launch writes and that its reverse reads: boxes, for the arguments of that
launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from mlirad.analysis.footprints.footprint import Axes, Axis, Bound, read_box
from mlirad.analysis.linear import Linear, evaluate_sum
from mlirad.bindings import ir
from mlirad.ir.reports.location import read_place
from mlirad.runtime.boxes import Box


class Footprint:
    """An access: its array (a field's name, or the number of an argument), and `box`, which gives
    the box for the arguments of a launch, by their number in the kernel; `part`, as `mark-accesses`
    notes it."""

    def __init__(self, array: str | int, place: str, axes: Axes, part: str = "") -> None:
        self.array, self.place, self.axes, self.part = array, place, axes, part
        self.box = _box(axes)
        # of a field, and the same at all launches
        self.is_fixed = isinstance(array, str) and not any(map(_is_moving, axes))


class Flow(msgspec.Struct, frozen=True):
    """An array that gets floats made of others, and where.

    An array is a field's name, the number of an argument, or, of a launch, whatever stands for its
    array argument.
    """

    target: Any
    place: str
    sources: tuple[Any, ...]

    def rename(self, names: Mapping[Any, Any]) -> Flow:
        """Put names in the place of numbers of arguments; sources without a name are left out."""
        sources = [
            source if isinstance(source, str) else names.get(source) for source in self.sources
        ]
        return Flow(
            names.get(self.target, self.target),
            self.place,
            tuple(s for s in sources if s is not None),
        )


class Flows(msgspec.Struct, frozen=True):
    """Flows of derivatives through a kernel."""

    between: tuple[Flow, ...]
    results: tuple[str | int, ...]  # the arrays of whose floats its results are made


class Footprints(msgspec.Struct, frozen=True, dict=True):
    """The accesses of a kernel that matter to a tape."""

    needed: tuple[Footprint, ...]
    active: tuple[Footprint, ...]  # reads of array arguments through which derivatives pass
    written: tuple[Footprint, ...]
    stored: tuple[Footprint, ...]  # writes of values that the reverse may load
    redone: Mapping[str | int, str]  # arrays that the reverse wants as before the launch, and why
    flows: Flows  # between arrays, and to results

    @cached_property
    def written_arrays(self) -> frozenset[str | int]:
        """The arrays that are written."""
        return frozenset([footprint.array for footprint in self.written])

    @cached_property
    def needs_the_same(self) -> bool:
        """Return whether the reverses of all launches read the same elements."""
        return all(footprint.is_fixed for footprint in self.needed)


class Accesses(msgspec.Struct, frozen=True, dict=True):
    """All that a kernel does to fields and array arguments."""

    read: tuple[Footprint, ...]
    written: tuple[Footprint, ...]

    @cached_property
    def written_fields(self) -> frozenset[str]:
        """The fields that are written."""
        return frozenset([o.array for o in self.written if isinstance(o.array, str)])


def _box(axes: Axes) -> Callable[[Sequence[Any]], Box]:
    """A box for the arguments of a launch. A tape asks at every launch: what is the same for all is
    computed now."""
    fixed = tuple([(_constant(axis.low), _constant(axis.high)) for axis in axes])
    moving = [k for k, axis in enumerate(axes) if _is_moving(axis)]
    if not moving:
        return lambda _: fixed
    if (
        len(moving) == 1
        and (shifted := _shifted_box(fixed, moving[0], axes[moving[0]])) is not None
    ):
        return shifted
    ends = [(_at(axis.low), _at(axis.high)) for axis in axes]
    return lambda arguments: tuple([(low(arguments), high(arguments)) for low, high in ends])


def _is_moving(axis: Axis) -> bool:
    return _moves(axis.low) or _moves(axis.high)


def _moves(bound: Bound | None) -> bool:
    return bound is not None and bool(bound.terms)


def _constant(bound: Bound | None) -> int | None:
    return None if bound is None else bound.constant


def _shifted_box(fixed: Box, position: int, axis: Axis) -> Callable[[Sequence[Any]], Box] | None:
    """A box that one argument shifts along one axis; None if it is not such a box."""
    low, high = axis.low, axis.high
    if low is None or high is None or low.terms != high.terms or len(low.terms) > 1:
        return None
    ((argument, factor),) = low.terms
    constant, length = low.constant, high.constant - low.constant
    before, after = fixed[:position], fixed[position + 1 :]

    def box(arguments: Sequence[Any]) -> Box:
        first = constant + factor * arguments[argument]
        return before + ((first, first + length),) + after

    return box


def _at(bound: Bound | None) -> Callable[[Sequence[Any]], int | None]:
    """A bound for the arguments of a launch."""
    if bound is None or not bound.terms:
        constant = _constant(bound)
        return lambda _: constant
    if len(bound.terms) > 1:
        return lambda arguments: evaluate_sum(bound, arguments)
    constant, ((argument, factor),) = bound.constant, bound.terms
    return lambda arguments: constant + factor * arguments[argument]


def _merge(footprints: list[Footprint]) -> tuple[Footprint, ...]:
    """Footprints of one array that differ along one axis, by constants, as one: the components of
    vectors and of matrices."""
    count = -1
    while count != len(footprints):
        count = len(footprints)
        for axis in range(max([len(footprint.axes) for footprint in footprints], default=0) or 1):
            footprints = _merge_along(footprints, axis)
    return tuple(footprints)


def _merge_along(footprints: list[Footprint], k: int) -> list[Footprint]:
    """Merge footprints that differ along an axis only, and meet or follow one another there, at the
    place of the first; of equal ones, keep the first."""
    groups: dict[Any, list[Footprint]] = {}
    for footprint in footprints:
        is_fixed = k < len(footprint.axes) and _is_fixed(footprint.axes[k])
        rest_axes = (footprint.axes[:k], footprint.axes[k + 1 :]) if is_fixed else footprint.axes
        groups.setdefault((footprint.array, footprint.part, is_fixed, rest_axes), []).append(
            footprint
        )
    order = {footprint: number for number, footprint in enumerate(footprints)}
    merged: dict[int, Footprint] = {}
    for (_, _, is_fixed, _), alike in groups.items():
        for run in _runs(alike, k) if is_fixed else [alike]:
            first = min(run, key=order.__getitem__)
            merged[order[first]] = _merge_run(run, first, k) if is_fixed else first
    return [merged[number] for number in sorted(merged)]


def _is_fixed(axis: Axis) -> bool:
    return not (axis.low is None or axis.high is None or axis.low.terms or axis.high.terms)


def _ends(footprint: Footprint, k: int) -> tuple[int, int]:
    low, high = footprint.axes[k].low, footprint.axes[k].high
    assert low is not None and high is not None
    return low.constant, high.constant


def _runs(alike: list[Footprint], k: int) -> Iterator[list[Footprint]]:
    """Yield footprints that meet or follow one another, in the order of their first elements."""
    run: list[Footprint] = []
    last = 0
    for footprint in sorted(alike, key=lambda footprint: _ends(footprint, k)):
        low, high = _ends(footprint, k)
        if run and low > last + 1:
            yield run
            run = []
        last = max(last, high) if run else high
        run.append(footprint)
    yield run


def _merge_run(run: list[Footprint], first: Footprint, k: int) -> Footprint:
    if len(run) == 1:
        return first
    highest = max(run, key=lambda footprint: _ends(footprint, k)[1])
    axis = Axis(run[0].axes[k].low, highest.axes[k].high)
    axes = (*first.axes[:k], axis, *first.axes[k + 1 :])
    return Footprint(first.array, first.place, axes, first.part)


def read_footprints(module: ir.Module, name: str) -> Footprints:
    """The footprints and verdicts noted on a kernel by `mark-footprints` and
    `check-access-rules`."""
    groups = _by_access(module, "field.footprints", ("needed", "active", "written", "stored"))
    redone: dict[str | int, str] = {}
    for op in module.body.operations:
        if (
            "grad.redone" in op.attributes
            and ir.StringAttr(op.attributes["sym_name"]).value == name
        ):
            arrays = map(_array, ir.ArrayAttr(op.attributes["grad.redone"]))
            verdicts = map(ir.StringAttr, ir.ArrayAttr(op.attributes["grad.verdicts"]))
            redone = {array: verdict.value for array, verdict in zip(arrays, verdicts)}
    needed, active, written, stored = map(_merge, groups)
    return Footprints(needed, active, written, stored, redone, read_flows(module))


def read_accesses(module: ir.Module) -> Accesses:
    """The accesses noted by `mark-accesses`."""
    return Accesses(*map(_merge, _by_access(module, "field.accesses", ("read", "written"))))


def _by_access(module: ir.Module, name: str, kinds: Sequence[str]) -> list[list[Footprint]]:
    """The footprints in an attribute of a module, by the kind of access."""
    groups: dict[str, list[Footprint]] = {kind: [] for kind in kinds}
    attributes = module.operation.attributes
    for note in ir.ArrayAttr(attributes[name]) if name in attributes else []:
        entry = ir.DictAttr(note)
        part_name = ir.StringAttr(entry["part"]).value if "part" in entry else ""
        axes = read_box(entry["box"])
        footprint = Footprint(_array(entry["array"]), _place(entry["place"]), axes, part_name)
        groups[ir.StringAttr(entry["access"]).value].append(footprint)
    return list(groups.values())


def box_arguments(boxes: Iterable[Axes]) -> tuple[int, ...]:
    """The numbers of the arguments that bounds of boxes depend on."""
    bounds = [bound for axes in boxes for axis in axes for bound in (axis.low, axis.high)]
    numbers = {number for bound in bounds if bound is not None for number in bound.names}
    return tuple(sorted(numbers))


def launch_boxes(boxes: Sequence[Axes]) -> list[Callable[[Sequence[Any]], Box]]:
    """Boxes of one array, those that line up as one, for the arguments of a launch."""
    return [footprint.box for footprint in _merge([Footprint("", "", axes) for axes in boxes])]


def launch_ranges(ranges: Sequence[Axes]) -> list[Callable[[Sequence[Any]], Box]]:
    """Boxes of one axis, also those as one that line up and move together."""
    together: dict[Any, list[tuple[int, int]]] = {}
    single = list[Axes]()
    for axes in ranges:
        low, high = axes[0].low, axes[0].high
        if low is None or high is None or low.terms != high.terms:
            single.append(axes)
        else:
            together.setdefault(low.terms, []).append((low.constant, high.constant))
    lined_up = [
        (Axis(Linear(terms, first), Linear(terms, last)),)
        for terms, ends in together.items()
        for first, last in _joined(ends)
    ]
    return launch_boxes([*lined_up, *single])


def _joined(ends: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of numbers, those as one that meet or follow one another."""
    joined = list[tuple[int, int]]()
    for first, last in sorted(ends):
        if joined and first <= joined[-1][1] + 1:
            first, last = joined[-1][0], max(last, joined.pop()[1])
        joined.append((first, last))
    return joined


def read_flows(module: ir.Module) -> Flows:
    """The flows noted by `mark-flows`."""
    attributes, flows = module.operation.attributes, []
    for item in ir.ArrayAttr(attributes["field.flows"]) if "field.flows" in attributes else []:
        entry = ir.DictAttr(item)
        sources = tuple(map(_array, ir.ArrayAttr(entry["sources"])))
        flows.append(Flow(_array(entry["target"]), _place(entry["place"]), sources))
    if "field.results" not in attributes:
        return Flows(tuple(flows), ())
    results = ir.ArrayAttr(attributes["field.results"])
    return Flows(tuple(flows), tuple(map(_array, results)))


def _array(attribute: ir.Attribute) -> str | int:
    """A field's name, or the number of an argument."""
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return ir.FlatSymbolRefAttr(attribute).value
    return ir.IntegerAttr(attribute).value


def _place(attribute: ir.Attribute) -> str:
    place = read_place(attribute)
    return "" if place is None else str(place)
