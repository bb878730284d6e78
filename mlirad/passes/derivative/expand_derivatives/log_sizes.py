"""Room for logs, by the trips of the loops that note elements in them."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import DimOp
from mlirad.dialect.grad import LogType, OpenOp, RecordOp, open_
from mlirad.ir import build as b
from mlirad.ir.box import Bounds, fold
from mlirad.ir.ops import Arith
from mlirad.ir.pure_operations import is_arithmetic, is_integer_division
from mlirad.ir.structured import is_for, is_while
from mlirad.ir.walk import (
    ancestors,
    before,
    constant_integer,
    copy_with,
    defining_op,
    is_function_argument,
    operations,
    replace,
)


def give_logs_room(function: ir.Operation) -> bool:
    """Open each log with room for what is noted in it, if it is known how often its loops run at
    most; return whether that is known of all logs."""
    opens = [op for op in operations(function) if OpenOp.holds(op)]
    rooms = [[_Room(use.owner.operation, op) for use in op.results[0].uses] for op in opens]
    is_known = all(room.is_known for sites in rooms for room in sites)
    for op, sites in zip(opens, rooms) if is_known else ():
        _give(op, [site for site in sites if RecordOp.holds(site.op)])
    return is_known


class _Room:
    """An op in loops, which runs as often as these do."""

    def __init__(self, op: ir.Operation, log: ir.Operation) -> None:
        self.op = op
        self.around = [loop for loop in ancestors(op, log.parent) if is_for(loop) or is_while(loop)]

    @property
    def is_known(self) -> bool:
        """Return whether the number of entries has a bound that is known before all loops."""
        if not RecordOp.holds(self.op):
            return True
        return all(
            is_for(loop) and all(map(_is_known, list(loop.operands)[:3])) for loop in self.around
        )

    def trips(self) -> ir.Value:
        """Return how often it runs at most."""
        product = b.index(1)
        for loop in self.around:
            bounds = Bounds(*[_copy(value) for value in list(loop.operands)[:3]])
            product = fold(Arith.MULI, product, bounds.trips())
        return product


def _give(op: ir.Operation, sites: list[_Room]) -> None:
    with before(op):
        total = b.index(0)
        for site in sites:
            total = fold(Arith.ADDI, total, site.trips())
        log = LogType(op.results[0].type)
        element = ir.TypeAttr(log.element).value
        replace(op, [open_(element, ir.IntegerAttr(log.rank).value, [total])])


def _is_known(value: ir.Value) -> bool:
    """Return whether a value is arithmetic on arguments of the function and their extents."""
    op = defining_op(value)
    if op is None:
        return is_function_argument(value)
    if DimOp.holds(op):
        return is_function_argument(op.operands[0])
    is_safe = not is_integer_division(op) or bool(constant_integer(op.operands[1]))
    is_plain = is_arithmetic(op) and not len(op.regions) and len(op.results) == 1
    return is_plain and is_safe and all(map(_is_known, op.operands))


def _copy(value: ir.Value) -> ir.Value:
    """Return the value, computed at the insertion point."""
    op = defining_op(value)
    if op is None:
        return value
    return copy_with(op, [_copy(operand) for operand in op.operands]).results[0]
