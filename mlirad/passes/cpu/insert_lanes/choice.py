"""The choice of the loop of a nest that runs in lanes, and its reason."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from mlirad.analysis.lanes.cost import (
    Lanes,
    Scalar,
    expected_trips,
    is_far,
    is_long,
    is_smooth,
    pages_at_once,
)
from mlirad.analysis.lanes.lane_meetings import Meetings
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.marks.axis_choices import choice_of
from mlirad.ir.marks.rare import is_rare
from mlirad.ir.structured import AT_END, For, is_branch, is_for, runs_in_any_order
from mlirad.ir.walk import ancestors, block_operations, operations
from mlirad.passes.cpu.insert_lanes.limits import parallel_loops, reason_against
from mlirad.passes.cpu.insert_lanes.vector_pairs import is_worth_two

if TYPE_CHECKING:
    from mlirad.analysis.lanes.groups import Groups

LARGE, LARGE_FAR = 200, 12  # ops, and accesses of lanes one by one: what is compiled once only
_NARROW = 8  # lanes of vectors of which two may be better than one: there are few registers
WORTH = 1.25  # how much faster lanes have to seem
# Pages of memory that the processor has at hand; and what each access of more costs a lane, where
# loops are compared: another may stay within a row.
_PAGES, _PAGE = 64, 0.5


class Candidate(msgspec.Struct, frozen=True):
    """A loop that may run in lanes."""

    loop: ir.Operation
    strides: Strides
    meetings: Meetings
    groups: Groups
    width: int
    is_large: bool = False  # too large to be there twice, once with masks
    is_masked: bool = False  # and cheap with masks: there once, with them
    ends: tuple[Candidate, ...] = ()  # loops over iterations that were in front of it, or behind

    def of_width(self, width: int) -> Candidate:
        """Return the same candidate with another number of lanes."""
        groups = _groups(self.strides, self.meetings, width)
        return Candidate(
            *(self.loop, self.strides, self.meetings, groups, width),
            *(self.is_large, self.is_masked, self.ends),
        )


class Choice(msgspec.Struct, frozen=True):
    """The decision on a nest of loops: the one that runs in lanes, if any, and the remark on it."""

    nest: ir.Operation
    candidate: Candidate | None
    text: str


def choose(function: ir.Operation, width: int, fast: bool, always: bool) -> list[Choice]:
    """A choice for each nest of loops of a function."""
    loops = parallel_loops(function)
    nests = [loop for loop in loops if not _is_within_another(loop)]
    return [_choice(nest, width, fast, always) for nest in nests]


def _is_within_another(loop: ir.Operation) -> bool:
    return any(map(runs_in_any_order, ancestors(loop)))


def _choice(nest: ir.Operation, width: int, fast: bool, always: bool) -> Choice:
    """The loop with which the nest costs least."""
    widest = width
    if not always and _has_wide_floats(nest):
        width = max(2, width // 2)
    scalar, reasons = Scalar(fast, width), []
    asked = {op for op in (nest, *operations(nest)) if is_for(op) and choice_of(op).in_lanes}
    if not always and not asked and scalar.is_left_to_llvm(nest):
        return Choice(nest, None, "no iterations run as lanes: LLVM has vectors for its inner loop")
    plain = scalar.loop(nest)
    limit = float("inf") if always or asked else plain / WORTH
    best, least, told = None, float("inf"), 0.0
    for loop in reversed([nest, *(op for op in operations(nest) if _may_run_in_lanes(op))]):
        if asked and loop not in asked:
            continue
        candidate = _candidate(loop, scalar, always)
        if isinstance(candidate, str):
            reasons.append(candidate)
            continue
        cost = _cost_of_nest(nest, candidate, scalar)
        many = pages_at_once(candidate.strides, width) > _PAGES
        beside = _cost_of_nest(nest, candidate, scalar, page=_PAGE) if many else cost
        if cost < limit and beside < least:
            best, least, told = candidate, beside, cost
    if best is not None:
        if not always and widest <= _NARROW and is_worth_two(best.loop, best.strides, width):
            best = best.of_width(2 * width)
        times = f"{plain / told:.1f} times as fast by the cost model"
        name = choice_of(best.loop).name
        of = f" of {name}" if name else ""
        return Choice(nest, best, f"{best.width} iterations{of} run as lanes: {times}")
    why = reasons[0] if reasons else "the cost model sees no gain"
    return Choice(nest, None, f"no iterations run as lanes: {why}")


def _may_run_in_lanes(op: ir.Operation) -> bool:
    return runs_in_any_order(op) and AT_END not in op.attributes


def _candidate(loop: ir.Operation, scalar: Scalar, always: bool) -> Candidate | str:
    """A loop as a candidate, or what is against it."""
    strides = scalar.strides(loop)
    meetings = Meetings(strides, scalar.fast)
    reason = reason_against(loop, strides, meetings, scalar.fast)
    if reason:
        return reason
    groups = _groups(strides, meetings, scalar.width)
    large = not always and _is_large(loop, strides)
    masked = is_smooth(strides) and (is_long(loop) or _branches_rarely(loop))
    has_ends = AT_END not in loop.attributes and _is_within_another(loop)
    ends = tuple(_ends(loop, scalar)) if has_ends else ()  # else they are nests themselves
    return Candidate(loop, strides, meetings, groups, scalar.width, large, masked, ends)


def _groups(strides: Strides, meetings: Meetings, width: int) -> Groups:
    from mlirad.analysis.lanes.groups import Groups  # for loops that may run in lanes alone

    return Groups(strides, meetings, width)


def _ends(loop: ir.Operation, scalar: Scalar) -> Iterator[Candidate]:
    """Loops over the few iterations that were in front of a loop, or behind it, where there are
    enough of them."""
    for other in block_operations(loop.block):
        if AT_END in other.attributes and runs_in_any_order(other):
            trips = spans(other)[0].trips
            candidate = _candidate(other, scalar, always=False)
            if trips is None or trips < scalar.width or isinstance(candidate, str):
                continue
            if _cost(candidate, 0.0) < scalar.loop(other):
                yield candidate


def _branches_rarely(loop: ir.Operation) -> bool:
    """Return whether there are branches in a loop, all of which hardly ever run."""
    branches = [op for op in operations(loop) if is_branch(op)]
    return bool(branches) and all(map(is_rare, branches))


def _cost_of_nest(
    nest: ir.Operation, candidate: Candidate, scalar: Scalar, page: float = 0.0
) -> float:
    scalar.replaced = {
        chosen_loop.loop: _cost(chosen_loop, page) for chosen_loop in (candidate, *candidate.ends)
    }
    return scalar.op(nest)


def _cost(candidate: Candidate, page: float) -> float:
    loop, width = candidate.loop, candidate.width
    trips = expected_trips(loop)
    lanes = Lanes(candidate.strides, candidate.meetings, width, page=page, groups=candidate.groups)
    trip_cost = lanes.block(For(loop).body) + 1.0
    return trip_cost * -(-trips // width) + 6.0 + 8.0 * len(loop.results)


def _is_large(loop: ir.Operation, strides: Strides) -> bool:
    if next(islice(operations(loop), LARGE, None), None) is not None:
        return True
    return sum(is_far(op, strides) for op in strides.non_arithmetic) > LARGE_FAR


def _has_wide_floats(nest: ir.Operation) -> bool:
    return any(isinstance(r.type, ir.F64Type) for op in operations(nest) for r in op.results)
