"""Mark the updates of parallel loops that need no atomic: reductions to one cell, and cells no
other chunk touches.

A parallel loop is later cut into chunks along one axis, noted as `field.axis`. An atomic becomes
`field.reduce`, with the number of a cell, where all iterations update that cell, and the loop
touches it in no other way, and `field.plain` where no access to its array reaches its element from
another place of the chunked axis, or where nothing runs in parallel. On a machine that runs every
iteration on its own (`every-axis`), none may reach it from another iteration.
"""

from mlirad.analysis.cells import Group, accesses_by_array, private_updates, summed_cells
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import SharedOp, is_atomic, is_load
from mlirad.ir.build import integer_type
from mlirad.ir.gpu.blocks import has_threads
from mlirad.ir.limits import Threads
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import functions, is_defined_in, operations, owner_operation

REQUIRES = KERNELS


def mark_private_updates(
    module: ir.Operation, *, threads: Threads = 1, every_axis: bool = False
) -> None:
    """Mark atomics that can become plain updates or reductions, and the axis along which the loop
    is cut into chunks."""
    unit = ir.UnitAttr.get()
    for function in functions(module):
        loops = [op for op in operations(function) if is_parallel(op)]
        for loop in loops:
            _mark_loop(loop, threads, every_axis)
        for op in operations(function):
            if is_atomic(op) and not any(_inside(op, loop) for loop in loops):
                op.attributes[PLAIN_MARK] = unit


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
    indices_of_loop = list(loop.regions[0].blocks[0].arguments)
    shared = indices_of_loop if every_axis else indices_of_loop[axis : axis + 1]
    serial = threads == 1 and not every_axis
    unit, meetings = ir.UnitAttr.get(), Meetings(loop)
    for root, group in accesses_by_array(loop).items():
        if all(is_load(op) for op, _ in group):
            continue
        is_private = isinstance(root, ir.Value) and _is_of_iteration(root, loop)
        if has_threads(loop) and not is_private:
            continue
        sums = (
            [] if is_private else [cell for cell in summed_cells(meetings, group) if not cell.names]
        )
        for number, cell in enumerate(sums):
            for op in cell.updates:
                op.attributes[REDUCE_MARK] = ir.IntegerAttr.get(integer_type(64), number)
        for op in (
            _updates(group) if is_private or serial else private_updates(meetings, shared, group)
        ):
            if REDUCE_MARK not in op.attributes:
                op.attributes[PLAIN_MARK] = unit


def _is_of_iteration(array: ir.Value, loop: ir.Operation) -> bool:
    """Return whether an array is made in each iteration of a loop, and no other sees it."""
    return is_defined_in(array, loop) and not SharedOp.holds(owner_operation(array))


def _chunk_axis(loop: ir.Operation, threads: int) -> int:
    """The first axis, unless it is known to be too short to share and another is longer."""
    extents = [span.trips for span in spans(loop)]
    first = extents[0]
    constant_extents = [e for e in extents if e is not None]
    if first is None or first >= 4 * threads or len(constant_extents) < len(extents):
        return 0
    return extents.index(max(constant_extents))


def _updates(group: Group) -> list[ir.Operation]:
    return [op for op, _ in group if is_atomic(op)]
