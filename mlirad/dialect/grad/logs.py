"""Logs: the elements of an array that were overwritten, last first."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.bindings import ext, ir
from mlirad.dialect.effects import allocates, frees, reads, writes
from mlirad.dialect.field import array_of, is_array
from mlirad.dialect.grad.stacks import Grad
from mlirad.dialect.view import View


class LogType(Grad.Type, name="log"):
    """Overwritten elements of one array, the last one first, with an element type and a rank.
    `!grad.log<f32, 2>`"""

    element: ir.TypeAttr
    rank: ir.IntegerAttr


class OpenOp(View, dialect=Grad, name="open", effects=[allocates("log")]):
    """Open an empty log, with capacity for a number of entries if that number is known.

    `%l = grad.open %n : !grad.log<f32, 1>`

    Races: a log is used by the iteration that opens it.
    Bounds: if it was opened for a number of entries, it does not grow.
    Aliasing: it overlaps nothing.
    """

    entries: Sequence[ext.Operand[ir.IndexType]]
    log: ext.Result[Any]

    def problem(self) -> str | None:
        if len(self.operation.operands) > 1:
            return "a log has one number of entries"
        return _problem_of_log(self.operation.results[0].type)


class RecordOp(View, dialect=Grad, name="record", effects=[writes("log")]):
    """Record the value of an element before it is overwritten.

    `grad.record %old, %l[%i]`

    Races: with every use of the log in another iteration.
    """

    value: ext.Operand[Any]
    log: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def problem(self) -> str | None:
        value, log, *indices = self.operation.operands
        expected = f"!grad.log<{value.type}, {len(indices)} : i64>"
        if str(log.type) != expected:
            return f"record in {log.type}, expected {expected}"
        return None


class MarkOp(View, dialect=Grad, name="mark", effects=[reads("log")]):
    """The number of elements in a log. `%m = grad.mark %l`

    Races: with records and undos of the log in another iteration.
    """

    log: ext.Operand[Any]
    count: ext.Result[ir.IndexType]

    def problem(self) -> str | None:
        return _problem_of_log(self.operation.operands[0].type)


class UndoOp(
    View, dialect=Grad, name="undo", effects=[reads("log"), writes("log"), writes("array")]
):
    """Restore the elements of an array that were recorded since a mark.

    `grad.undo %l, %m, %x`

    Races: with every use of the log or of the elements in another iteration.
    Bounds: `count` is the result of an earlier mark.
    Aliasing: `array` is the array whose elements were recorded.
    """

    log: ext.Operand[Any]
    count: ext.Operand[ir.IndexType]
    array: ext.Operand[Any]

    def problem(self) -> str | None:
        log, _, array = (value.type for value in self.operation.operands)
        problem = _problem_of_log(log)
        if problem is None and (not is_array(array) or str(log) != _log_of(*array_of(array))):
            return f"undo of {log} in {array}"
        return problem


class CloseOp(View, dialect=Grad, name="close", effects=[frees("log")]):
    """Close a log that is no longer used. `grad.close %l`

    Races: with every use of the log in another iteration.
    """

    log: ext.Operand[Any]

    def problem(self) -> str | None:
        return _problem_of_log(self.operation.operands[0].type)


def log_type(element: ir.Type, rank: int) -> ir.Type:
    """The type of a log of elements of an array of some rank."""
    return LogType.get(
        ir.TypeAttr.get(element), ir.IntegerAttr.get(ir.IntegerType.get_signless(64), rank)
    )


def log_parts(type_: ir.Type) -> tuple[ir.Type, int]:
    """The element type and the rank of a log."""
    log = LogType(type_)
    return ir.TypeAttr(log.element).value, ir.IntegerAttr(log.rank).value


def _log_of(element: str, extents: tuple[int, ...]) -> str:
    return f"!grad.log<{element}, {len(extents)} : i64>"


def _problem_of_log(type_: ir.Type) -> str | None:
    return None if isinstance(type_, LogType) else f"{type_} is not a log"


def open_(element: ir.Type, rank: int, entries: Sequence[ir.Value] = ()) -> ir.Value:
    """`grad.open`: a log of elements of an array of some rank."""
    return ir.Operation.create(OpenOp.OPERATION_NAME, [log_type(element, rank)], entries).result


def record(
    value: ir.Value,
    log: ir.Value,
    indices: Sequence[ir.Value],
    marks: Mapping[str, ir.Attribute] | None = None,
) -> None:
    """`grad.record`."""
    ir.Operation.create(RecordOp.OPERATION_NAME, [], [value, log, *indices], marks)


def mark(log: ir.Value) -> ir.Value:
    """`grad.mark`."""
    return ir.Operation.create(MarkOp.OPERATION_NAME, [ir.IndexType.get()], [log]).result


def undo(
    log: ir.Value, count: ir.Value, array: ir.Value, marks: Mapping[str, ir.Attribute] | None = None
) -> None:
    """`grad.undo`."""
    ir.Operation.create(UndoOp.OPERATION_NAME, [], [log, count, array], marks)


def close(log: ir.Value) -> None:
    """`grad.close`."""
    ir.Operation.create(CloseOp.OPERATION_NAME, [], [log])
