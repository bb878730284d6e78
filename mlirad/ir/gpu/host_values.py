"""Values that the host can compute before a launch, for `insert-size-counts`: arithmetic on the
arguments of a kernel, and on numbers at the top of its function, which can be passed to it."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import DimOp, FetchOp, GetOp
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.pure_operations import is_arithmetic, is_integer_division
from mlirad.ir.walk import before, constant_integer, copy_with, defining_op, enclosing


class HostValues:
    """The values of one function."""

    def __init__(self, function: ir.Operation) -> None:
        self._function = function
        self._known: dict[ir.Value, bool] = {}
        self._computed: dict[tuple[ir.Value, ir.Operation], ir.Value] = {}

    def knows(self, value: ir.Value) -> bool:
        """Return whether the host has a value at the top of the function without looking at
        memory."""
        if value not in self._known:
            self._known[value] = self._look_at(value)
        return self._known[value]

    def _look_at(self, value: ir.Value) -> bool:
        op = defining_op(value)
        if op is None:
            return self._is_at_top(value)
        if enclosing(op) != self._function or not (_is_arithmetic(op) or FetchOp.holds(op)):
            return False
        return FetchOp.holds(op) or all(map(self.knows, op.operands))

    def _is_at_top(self, value: ir.Value) -> bool:
        op = defining_op(value)
        if op is None:
            return ir.BlockArgument(value).owner.owner.operation == self._function
        return enclosing(op) == self._function

    def can_compute(self, value: ir.Value) -> bool:
        """Return whether `compute` can."""
        if self._is_at_top(value):
            return self.knows(value) or isinstance(value.type, ir.IndexType | ir.IntegerType)
        op = defining_op(value)
        return op is not None and _is_safe(op) and all(map(self.can_compute, op.operands))

    def compute(self, value: ir.Value, top: ir.Operation) -> ir.Value:
        """A value that is used within an op at the top of the function, in front of it."""
        if self.knows(value):
            return value
        if (value, top) not in self._computed:
            self._computed[value, top] = self._copy(value, top)
        return self._computed[value, top]

    def _copy(self, value: ir.Value, top: ir.Operation) -> ir.Value:
        with before(top):
            if self._is_at_top(value):
                return _fetch(value)
            op = defining_op(value)
            assert op is not None
            operands = [self.compute(operand, top) for operand in op.operands]
            return copy_with(op, operands).results[0]


def _fetch(value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.IndexType):
        return field.fetch([value])[0]
    word = b.to_index(value)
    return b.make(Arith.INDEX_CAST, value.type, field.fetch([word]))


def _is_arithmetic(op: ir.Operation) -> bool:
    return not op.regions and (is_arithmetic(op) or GetOp.holds(op) or DimOp.holds(op))


def _is_safe(op: ir.Operation) -> bool:
    """Return whether an op gives one result, and never traps: it is computed where it may not have
    been."""
    if not _is_arithmetic(op) or len(op.results) != 1 or GetOp.holds(op):
        return False
    if is_integer_division(op):
        return bool(constant_integer(op.operands[1]))
    return True
