"""Mark the updates of parallel loops that need no atomic: reductions to one cell, and cells no
other chunk touches.

A parallel loop is later cut into chunks along one axis, noted as `field.axis`. An atomic becomes
`field.reduce` where all iterations update one cell that the loop touches in no other way, and
`field.plain` where the index is one-to-one in the chunked axis over all accesses to its array, or
where nothing runs in parallel. On a machine that runs every iteration on its own (`every-axis`),
the index must be one-to-one in all axes.
"""

from mlirad.analysis.linear import Linear, linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicOp, is_atomic, is_load, split_access
from mlirad.ir.build import integer_type
from mlirad.ir.limits import Threads
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    Array,
    accesses,
    array_root,
    functions,
    has_uses,
    is_defined_in,
    operations,
)

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
    by_array: dict[Array, list[tuple[ir.Operation, list[ir.Value]]]] = {}
    for op, root, indices in accesses(loop):
        by_array.setdefault(root, []).append((op, indices))
    indices_of_loop = list(loop.regions[0].blocks[0].arguments)
    shared = indices_of_loop if every_axis else indices_of_loop[axis : axis + 1]
    serial = threads == 1 and not every_axis
    unit = ir.UnitAttr.get()
    for group in by_array.values():
        if all(is_load(op) for op, _ in group):
            continue
        if _is_reduction(loop, group):
            for op, _ in group:
                op.attributes["field.reduce"] = unit
        elif serial or all(_is_private(loop, iv, group) for iv in shared):
            for op, _ in group:
                if is_atomic(op):
                    op.attributes["field.plain"] = unit


def _chunk_axis(loop: ir.Operation, threads: int) -> int:
    """The first axis, unless it is known to be too short to share and another is longer."""
    extents = [span.trips for span in spans(loop)]
    first = extents[0]
    known = [e for e in extents if e is not None]
    if first is None or first >= 4 * threads or len(known) < len(extents):
        return 0
    return extents.index(max(known))


def _is_reduction(loop: ir.Operation, group: list[tuple[ir.Operation, list[ir.Value]]]) -> bool:
    first, indices = group[0]
    if not is_atomic(first):
        return False
    kind = AtomicOp(first).kind.value
    if kind == "exchange":
        return False
    forms = [linear_form(i) for i in indices]
    for op, other in group:
        if not is_atomic(op) or has_uses(op.results[0]) or AtomicOp(op).kind.value != kind:
            return False
        if is_defined_in(split_access(op)[0], loop) and isinstance(
            array_root(split_access(op)[0]), ir.Value
        ):
            return False
        if [linear_form(i) for i in other] != forms:
            return False
    return all(not is_defined_in(leaf, loop) for form in forms for leaf in form.names)


def _is_private(
    loop: ir.Operation, iv: ir.Value, group: list[tuple[ir.Operation, list[ir.Value]]]
) -> bool:
    """Whether two different values of the chunked index never meet in an element that one of them
    writes."""
    forms: dict[tuple[Linear[ir.Value], ...], bool] = {}
    for op, indices in group:
        key = tuple(linear_form(i) for i in indices)
        forms[key] = forms.get(key, False) or not is_load(op)
    found = list(forms)
    return all(_apart(loop, iv, left, right) for left in found if forms[left] for right in found)


def _apart(
    loop: ir.Operation,
    iv: ir.Value,
    left: tuple[Linear[ir.Value], ...],
    right: tuple[Linear[ir.Value], ...],
) -> bool:
    for mine, other in zip(left, right):
        if mine.terms != other.terms:
            continue
        fixed = all(not is_defined_in(leaf, loop) for leaf in mine.without(iv).names)
        if not fixed:
            continue
        moves = mine.coefficient(iv) != 0
        if (moves and mine.constant == other.constant) or (
            not moves and mine.constant != other.constant
        ):
            return True
    return False
