"""Reject serial loops over active elements that change which elements there are.

What such a loop visits is what is active when it begins (parallel ones make a list of it then,
`insert-active-lists`); a serial one asks at each element. Deactivating the element at which it is
changes nothing for it.
"""

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.dialect.activity import IsActiveOp, block_named, blocks_of, changes_activity
from mlirad.dialect.snode import trees_around
from mlirad.errors import TaichiCompilationError
from mlirad.ir.ops import Func
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import defining_op, enclosing, functions, is_inside, operations, owner_operation

REQUIRES = KERNELS


def check_visited_cells(module: ir.Operation) -> None:
    """Refuse serial loops over active elements that activate or deactivate other elements."""
    for function in functions(module):
        for op in list(operations(function)):
            if IsActiveOp.holds(op) and IsActiveOp(op).visits:
                _check(module, op)


def _check(module: ir.Operation, visit: ir.Operation) -> None:
    loop = _loop_of(visit)
    for op in operations(loop):
        if changes_activity(op) and not _is_same_cell(op, visit) and _are_nested(module, op, visit):
            place = nearest_location(op)
            raise TaichiCompilationError(
                "a serial loop over active elements changes which elements are active: make "
                "it the outermost loop of the kernel and leave out 'serialize', or change them in "
                "a loop of its own",
                nearest_location(visit),
                () if place is None else ((place, "the change"),),
            )


def _loop_of(visit: ir.Operation) -> ir.Operation:
    """The outermost serial loop whose indices the question is asked for."""
    owners = [owner for value in visit.operands for owner in _loops_behind(value, set())]
    outermost = [a for a in owners if not any(a != b and is_inside(a, b) for b in owners)]
    return outermost[0] if outermost else enclosing(visit)


def _loops_behind(value: ir.Value, visited: set[ir.Value]) -> Iterator[ir.Operation]:
    """The serial loops whose indices a value is computed from."""
    if value in visited:
        return
    visited.add(value)
    op = defining_op(value)
    if op is None:
        owner = owner_operation(value)
        if owner.name != Func.FUNC and not is_parallel(owner):
            yield owner
        return
    for operand in op.operands:
        yield from _loops_behind(operand, visited)


def _is_same_cell(op: ir.Operation, visit: ir.Operation) -> bool:
    return block_named(op) == block_named(visit) and list(op.operands) == list(visit.operands)


def _are_nested(module: ir.Operation, left: ir.Operation, right: ir.Operation) -> bool:
    """Return whether the block of one op lies in that of another, or is it."""
    (a, *_), (b, *_) = (blocks_of(module, block_named(op)) for op in (left, right))
    return a == b or b in trees_around(a) or a in trees_around(b)
