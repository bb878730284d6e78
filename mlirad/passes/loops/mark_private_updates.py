"""Mark the updates of parallel loops that need no atomic: reductions to one cell, and cells no
other chunk touches.

A parallel loop is later cut into chunks along one axis, noted as `field.axis`. An atomic becomes
`field.reduce`, with the number of a cell, where all iterations update that cell, and the loop
touches it in no other way, and `field.plain` where no access to its array reaches its element from
another place of the chunked axis, or where nothing runs in parallel. On a machine that runs every
iteration on its own (`every-axis`), none may reach it from another iteration.
"""

from collections.abc import Iterator, Sequence

from mlirad.analysis.linear import Linear, linear_form
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicOp, is_atomic, is_load
from mlirad.ir.build import integer_type
from mlirad.ir.limits import Threads
from mlirad.ir.reductions import REDUCE_MARK
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    Array,
    accesses,
    functions,
    has_uses,
    is_defined_in,
    operations,
)

Group = list[tuple[ir.Operation, list[ir.Value]]]  # accesses of one array, with their indices

REQUIRES = KERNELS


def mark_private_updates(
    module: ir.Operation, *, threads: Threads = 1, every_axis: bool = False
) -> None:
    """Mark atomics that can be plain updates or reductions, and the axis that is cut into
    chunks."""
    unit = ir.UnitAttr.get()
    for function in functions(module):
        loops = [op for op in operations(function) if is_parallel(op)]
        for loop in loops:
            _mark_loop(loop, threads, every_axis)
        for op in operations(function):
            if is_atomic(op) and not any(_inside(op, loop) for loop in loops):
                op.attributes["field.plain"] = unit


def _inside(op: ir.Operation, loop: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None:
        if parent.operation == loop:
            return True
        parent = parent.operation.parent
    return False


def _mark_loop(loop: ir.Operation, threads: int, every_axis: bool) -> None:
    axis = _chunk_axis(loop, threads)
    loop.attributes["field.axis"] = ir.IntegerAttr.get(integer_type(64), axis)
    by_array: dict[Array, Group] = {}
    for op, root, indices in accesses(loop):
        by_array.setdefault(root, []).append((op, indices))
    indices_of_loop = list(loop.regions[0].blocks[0].arguments)
    shared = indices_of_loop if every_axis else indices_of_loop[axis : axis + 1]
    serial = threads == 1 and not every_axis
    unit, meetings = ir.UnitAttr.get(), Meetings(loop)
    cells = 0
    for root, group in by_array.items():
        if all(is_load(op) for op, _ in group):
            continue
        own = isinstance(root, ir.Value) and is_defined_in(root, loop)
        for updates in [] if own else _reductions(loop, meetings, group):
            for op in updates:
                op.attributes[REDUCE_MARK] = ir.IntegerAttr.get(integer_type(64), cells)
            cells += 1
        for op in _updates(group) if own or serial else _private(meetings, shared, group):
            if REDUCE_MARK not in op.attributes:
                op.attributes["field.plain"] = unit


def _chunk_axis(loop: ir.Operation, threads: int) -> int:
    """The first axis, unless it is known to be too short to share and another is longer."""
    extents = [span.trips for span in spans(loop)]
    first = extents[0]
    known = [e for e in extents if e is not None]
    if first is None or first >= 4 * threads or len(known) < len(extents):
        return 0
    return extents.index(max(known))


def _reductions(
    loop: ir.Operation, meetings: Meetings, group: Group
) -> Iterator[list[ir.Operation]]:
    """The updates of each cell of an array that all iterations update, and touch in no other
    way."""
    places: dict[tuple[Linear[ir.Value], ...], Group] = {}
    for op, indices in group:
        places.setdefault(tuple(linear_form(i) for i in indices), []).append((op, indices))
    for forms, accesses_there in places.items():
        if any(is_defined_in(leaf, loop) for form in forms for leaf in form.names):
            continue
        cell = meetings.residues(accesses_there[0][1])
        others = (found[0][1] for place, found in places.items() if place != forms)
        if _is_one_sum(accesses_there) and all(
            meetings.never(cell, meetings.residues(other)) for other in others
        ):
            yield [op for op, _ in accesses_there]


def _is_one_sum(accesses_there: Group) -> bool:
    """Whether all accesses are updates of one kind, the order of which nobody sees."""
    kinds = {AtomicOp(op).kind.value if is_atomic(op) else None for op, _ in accesses_there}
    return (
        len(kinds) == 1
        and not kinds & {None, "exchange"}
        and not any(has_uses(op.results[0]) for op, _ in accesses_there)
    )


def _updates(group: Group) -> list[ir.Operation]:
    return [op for op, _ in group if is_atomic(op)]


def _private(meetings: Meetings, shared: Sequence[ir.Value], group: Group) -> list[ir.Operation]:
    """The updates of an array whose element no access reaches in an iteration with another value
    of the shared indices."""
    found = {op: meetings.residues(indices) for op, indices in group}
    places = list(dict.fromkeys(found.values()))
    private = {
        place
        for place in {found[op] for op in _updates(group)}
        if all(meetings.apart(place, other, iv) for iv in shared for other in places)
    }
    return [op for op in _updates(group) if found[op] in private]
