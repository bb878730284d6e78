"""Loops over lists of active cells in the place of loops over all cells that test each."""

from __future__ import annotations

from math import prod

from mlirad.analysis.cells import accesses_by_array, private_updates
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_load
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.requirements import refuse
from mlirad.ir.structured import Parallel, is_for, is_parallel
from mlirad.ir.walk import accesses, enclosing, operations
from mlirad.passes.loops.insert_active_lists.active_guard import Guard, guard_of
from mlirad.passes.loops.insert_active_lists.active_loop import ActiveLoop, Choice, choices

SHORT = 8  # elements: smaller cells are tested one by one, in the active ones of a block around
SMALL = 1 << 22  # cells that are tested one by one where there is no such block
LARGEST = 1 << 34  # tests


def loop_over_lists(
    module: ir.Operation,
    function: ir.Operation,
    blocks: dict[str, ir.Operation],
    *,
    every_axis: bool,
) -> None:
    """Let the loops of a function go over lists where that pays; the others test each cell."""
    loops = [op for op in operations(function) if is_parallel(op)]
    guards = [(loop, guard_of(Parallel(loop), blocks)) for loop in loops]
    chosen = [
        (loop, guard, _choose_block(loop, guard)) for loop, guard in guards if guard is not None
    ]
    _refuse_endless(function, {*blocks}, [loop for loop, _, choice in chosen if choice])
    for loop, guard, choice in chosen:
        if choice is not None or guard.item is not None:
            _mark_private(loop, choice, every_axis)
            ActiveLoop(module, loop, guard, choice).insert()


def _choose_block(loop: ir.Operation, guard: Guard) -> Choice | None:
    """The block of whose active cells a list is made: one whose cells are large, or, where the loop
    changes what it tests, the one that is tested. None where the cells are tested one by one."""
    candidates = choices(loop, guard)
    changed = {root for op, root, _ in accesses(loop) if not is_load(op)}
    if guard.activity in changed:
        return next((candidate for candidate in candidates if candidate.is_tested), None)
    large = [candidate for candidate in candidates if candidate.volume >= SHORT]
    if large or not candidates:
        return large[0] if large else None
    cells = prod(span.expected_trips for span in spans(loop))
    return None if cells <= SMALL else candidates[0]


def _mark_private(loop: ir.Operation, choice: Choice | None, every_axis: bool) -> None:
    """Mark the updates that no iteration for another cell of a list meets, while that is seen."""
    if choice is None:
        return
    indices, meetings = Parallel(loop).indices, Meetings(loop)
    shared = indices if every_axis else [indices[axis] for axis in choice.axes]
    for root, group in accesses_by_array(loop).items():
        if isinstance(root, str):
            for op in private_updates(meetings, shared, group):
                op.attributes[PLAIN_MARK] = ir.UnitAttr.get()


def _refuse_endless(
    function: ir.Operation, activities: set[str], turned: list[ir.Operation]
) -> None:
    for op, root, _ in accesses(function):
        count, around = 1, op
        while around != function:
            if around in turned:
                break
            if is_parallel(around) or is_for(around):
                count *= prod(span.expected_trips for span in spans(around))
            around = enclosing(around)
        else:
            if root in activities and count > LARGEST:
                refuse(
                    op,
                    f"this loop would test {count} cells one by one for which are active: a loop "
                    "over all of a field, or of a block, at the top level of the kernel goes "
                    "through those that are",
                )
