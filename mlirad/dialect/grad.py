"""What differentiation leaves behind: values kept for the reverse sweep, until a pass decides where they live."""
from collections.abc import Sequence
from typing import Any

from mlirad.bindings import ext, ir
from mlirad.dialect.field import array_of, is_array


class Grad(ext.Dialect, name="grad"):
    """Values saved for the reverse sweep."""


class StackType(Grad.Type, name="stack"):
    """Slots for one value an iteration. `!grad.stack<f32>`"""

    element: ir.TypeAttr


class AllocOp(Grad.Operation, name="alloc"):
    """As many slots as a loop has iterations. `%s = "grad.alloc"(%trips) : (index) -> !grad.stack<f32>`"""

    trips: ext.Operand[ir.IndexType]
    stack: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_stack(self.operation, self.operation.results[0].type)


class PushOp(Grad.Operation, name="push"):
    """Keep the value of iteration `trip`. `"grad.push"(%v, %s, %k) : (f32, !grad.stack<f32>, index) -> ()`"""

    value: ext.Operand[Any]
    stack: ext.Operand[Any]
    trip: ext.Operand[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        return _check_element(self.operation, self.operation.operands[0].type, self.operation.operands[1].type)


class PopOp(Grad.Operation, name="pop"):
    """Give back the value of iteration `trip`. `%v = "grad.pop"(%s, %k) : (!grad.stack<f32>, index) -> f32`"""

    stack: ext.Operand[Any]
    trip: ext.Operand[ir.IndexType]
    value: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_element(self.operation, self.operation.results[0].type, self.operation.operands[0].type)


class FreeOp(Grad.Operation, name="free"):
    """The reverse sweep is past the loop. `"grad.free"(%s) : (!grad.stack<f32>) -> ()`"""

    stack: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        return _check_stack(self.operation, self.operation.operands[0].type)


def stack_type(element: ir.Type) -> ir.Type:
    """The type of a stack of one element type."""
    return StackType.get(ir.TypeAttr.get(element))


def stack_element(type_: ir.Type) -> ir.Type:
    """The element type of a stack."""
    return ir.Type.parse(str(type_)[len("!grad.stack<"):-1])


def _check_stack(op: ir.Operation, type_: ir.Type) -> bool:
    if not str(type_).startswith("!grad.stack<"):
        op.location.emit_error(f"{type_} is not a stack")
        return False
    return True


def _check_element(op: ir.Operation, value: ir.Type, stack: ir.Type) -> bool:
    if str(stack) != f"!grad.stack<{value}>":
        op.location.emit_error(f"value of type {value} in {stack}")
        return False
    return True


class LogType(Grad.Type, name="log"):
    """Overwritten elements of one array, last first: an element type and a rank. `!grad.log<f32, 2>`"""

    element: ir.TypeAttr
    rank: ir.IntegerAttr


class OpenOp(Grad.Operation, name="open"):
    """An empty log. `%l = "grad.open"() : () -> !grad.log<f32, 1>`"""

    log: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_log(self.operation, self.operation.results[0].type)


class RecordOp(Grad.Operation, name="record"):
    """Note what an element holds before it is overwritten.

    `"grad.record"(%old, %l, %i) : (f32, !grad.log<f32, 1>, index) -> ()`
    """

    value: ext.Operand[Any]
    log: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def verify_region_invariants(self) -> bool:
        operands = list(self.operation.operands)
        expected = f"!grad.log<{operands[0].type}, {len(operands) - 2} : i64>"
        if str(operands[1].type) != expected:
            self.operation.location.emit_error(f"record in {operands[1].type}, expected {expected}")
            return False
        return True


class MarkOp(Grad.Operation, name="mark"):
    """How many elements a log holds now. `%m = "grad.mark"(%l) : (!grad.log<f32, 1>) -> index`"""

    log: ext.Operand[Any]
    count: ext.Result[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        return _check_log(self.operation, self.operation.operands[0].type)


class UndoOp(Grad.Operation, name="undo"):
    """Give an array back what was noted since a mark.

    `"grad.undo"(%l, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()`
    """

    log: ext.Operand[Any]
    count: ext.Operand[ir.IndexType]
    array: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        log, _, array = (value.type for value in op.operands)
        if not _check_log(op, log):
            return False
        if not is_array(array) or str(log) != _log_of(*array_of(array)):
            op.location.emit_error(f"undo of {log} in {array}")
            return False
        return True


class CloseOp(Grad.Operation, name="close"):
    """The log is not used any more. `"grad.close"(%l) : (!grad.log<f32, 1>) -> ()`"""

    log: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        return _check_log(self.operation, self.operation.operands[0].type)


def log_type(element: ir.Type, rank: int) -> ir.Type:
    """The type of a log of elements of an array of some rank."""
    return LogType.get(ir.TypeAttr.get(element), ir.IntegerAttr.get(ir.IntegerType.get_signless(64), rank))


def log_parts(type_: ir.Type) -> tuple[ir.Type, int]:
    """The element type and the rank of a log."""
    element, _, rank = str(type_)[len("!grad.log<"):-1].rpartition(", ")
    return ir.Type.parse(element), int(rank.split(" ")[0])


def _log_of(element: str, extents: tuple[int, ...]) -> str:
    return f"!grad.log<{element}, {len(extents)} : i64>"


def _check_log(op: ir.Operation, type_: ir.Type) -> bool:
    if not str(type_).startswith("!grad.log<"):
        op.location.emit_error(f"{type_} is not a log")
        return False
    return True
