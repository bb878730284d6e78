"""Logs of overwritten elements as stacks: one of elements, one for each of their indices, and a
length.

Assumes that the number of a log's entries is known where it is opened (`insert-size-counts`).
"""

from __future__ import annotations

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import array_of
from mlirad.dialect.grad import (
    CloseOp,
    LogType,
    MarkOp,
    OpenOp,
    RecordOp,
    UndoOp,
    is_undone,
    log_parts,
)
from mlirad.ir import build as b
from mlirad.ir.requirements import KERNELS, refuse
from mlirad.ir.walk import at_end, before, operations, users_of

REQUIRES = KERNELS
_SHORT = 1 << 31  # extents below it have indices of 32 bits


class _Log(msgspec.Struct, frozen=True):
    """The stacks that replace a log; the length is in memory."""

    elements: ir.Value
    indices: list[ir.Value]
    length: ir.Value


def lower_logs_to_stacks(module: ir.Operation) -> None:
    """Replace logs by stacks of known size."""
    logs: dict[ir.Value, _Log] = {}
    log_ops = [op for op in operations(module) if op.name in _HANDLERS or OpenOp.holds(op)]
    for op in log_ops:
        with before(op):
            if OpenOp.holds(op):
                logs[op.results[0]] = _open(op)
                continue
            value = next(value for value in op.operands if isinstance(value.type, LogType))
            if value not in logs:
                refuse(op, "a log that no 'grad.open' before it makes")
            _HANDLERS[op.name](op, logs[value])
    for op in reversed(log_ops):
        op.erase()


def _open(op: ir.Operation) -> _Log:
    if not op.operands:
        refuse(op, "a log of unknown size: run insert-size-counts first")
    element, rank = log_parts(op.results[0].type)
    entries, index = op.operands[0], _index_type(op)
    length = b.slot(b.index_type())
    b.write(b.index(0), length)
    indices = [grad.alloc(index, entries) for _ in range(rank)]
    return _Log(grad.alloc(element, entries), indices, length)


def _index_type(op: ir.Operation) -> ir.Type:
    """The type that holds every index of the arrays of a log."""
    users = users_of(op.results[0])
    extents = [
        e for user in users if UndoOp.holds(user) for e in array_of(user.operands[2].type)[1]
    ]
    short = all(0 <= extent < _SHORT for extent in extents)
    return b.integer_type(32 if short else 64)


def _record(op: ir.Operation, log: _Log) -> None:
    value, _, *indices = op.operands
    length = b.read(log.length)
    grad.push(value, log.elements, length)
    for index, stack in zip(indices, log.indices):
        word = b.index_cast(index, grad.stack_element(stack.type))
        grad.push(word, stack, length)
    b.write(b.add(length, b.index(1)), log.length)


def _mark(op: ir.Operation, log: _Log) -> None:
    op.results[0].replace_all_uses_with(b.read(log.length))


def _undo(op: ir.Operation, log: _Log) -> None:
    if is_undone(op):
        return
    _, mark, array = op.operands
    length = b.read(log.length)
    loop = b.for_loop(mark, length, b.index(1))
    with at_end(loop.body, op.location):
        last = b.add(mark, b.sub(b.sub(length, b.index(1)), loop.induction))
        indices = [b.to_index(grad.pop(stack, last)) for stack in log.indices]
        field.store(grad.pop(log.elements, last), array, indices)
        b.yield_()
    b.write(mark, log.length)


def _close(_: ir.Operation, log: _Log) -> None:
    for stack in (log.elements, *log.indices):
        grad.free(stack)


_HANDLERS = {
    RecordOp.OPERATION_NAME: _record,
    MarkOp.OPERATION_NAME: _mark,
    UndoOp.OPERATION_NAME: _undo,
    CloseOp.OPERATION_NAME: _close,
}
