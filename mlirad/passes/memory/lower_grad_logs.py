"""Logs of overwritten elements to buffers that grow: entries of 64-bit words, the indices and the
element."""

from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.grad import LogType, log_parts
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import element_pointer, pointer_type
from mlirad.ir.ops import Llvm
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import at_end, before, operations

# C's allocator: of a large log, `realloc` moves the pages and not the entries
_GROW, _FREE = "realloc", "free"
_ADDRESS, _COUNT, _CAPACITY = range(3)  # words of a log's header
FIRST_CAPACITY = 64  # entries


def lower_grad_logs(module: ir.Operation) -> None:
    """Replace logs by a header on the stack and entries on the heap."""
    headers: dict[ir.Value, ir.Value] = {}
    log_ops = [op for op in operations(module) if op.name in _HANDLERS]
    if not log_ops:
        return
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        for declaration in (
            "llvm.func @realloc(!llvm.ptr, i64) -> !llvm.ptr",
            "llvm.func @free(!llvm.ptr)",
        ):
            ir.Operation.parse(declaration).clone()
    for op in log_ops:
        log = next((value for value in op.operands if isinstance(value.type, LogType)), None)
        if log is not None and log not in headers:
            raise TaichiCompilationError(
                "a log that no 'grad.open' before it makes", source_location(op.location)
            )
        with before(op):
            _HANDLERS[op.name](op, headers)
    for op in reversed(log_ops):
        op.erase()


def _word(value: int) -> ir.Value:
    return b.number(value, b.integer_type(64))


def _open(op: ir.Operation, headers: dict[ir.Value, ir.Value]) -> None:
    header = b.alloca(ir.MemRefType.get([3], b.integer_type(64)))
    for word in (_ADDRESS, _COUNT, _CAPACITY):
        b.write(_word(0), header, [b.index(word)])
    headers[op.results[0]] = header


def _read(header: ir.Value, word: int) -> ir.Value:
    return b.read(header, [b.index(word)])


def _entry(header: ir.Value, count: ir.Value, words: int) -> list[ir.Value]:
    """The addresses of the words of an entry."""
    start = b.inttoptr(_read(header, _ADDRESS), pointer_type())
    first = b.mul(count, _word(words))
    places = [b.add(first, _word(k)) for k in range(words)]
    return [element_pointer(start, b.integer_type(64), place) for place in places]


def _record(op: ir.Operation, headers: dict[ir.Value, ir.Value]) -> None:
    value, log, *indices = op.operands
    header, words = headers[log], len(indices) + 1
    count = _read(header, _COUNT)
    full = b.if_else(b.compare(b.EQ, count, _read(header, _CAPACITY)), [], with_else=False)
    with at_end(full.then, op.location):
        capacity = b.add(b.mul(count, _word(2)), _word(FIRST_CAPACITY))
        old = b.inttoptr(_read(header, _ADDRESS), pointer_type())
        size = b.mul(capacity, _word(8 * words))
        new = b.llvm_call(_GROW, [old, size], [pointer_type()]).result
        b.write(b.ptrtoint(new, b.integer_type(64)), header, [b.index(_ADDRESS)])
        b.write(capacity, header, [b.index(_CAPACITY)])
        b.yield_()
    places = _entry(header, count, words)
    for place, index in zip(places, indices):
        b.effect(Llvm.STORE, [b.index_cast(index, b.integer_type(64)), place])
    b.effect(Llvm.STORE, [value, places[-1]])
    b.write(b.add(count, _word(1)), header, [b.index(_COUNT)])


def _mark(op: ir.Operation, headers: dict[ir.Value, ir.Value]) -> None:
    count = _read(headers[op.operands[0]], _COUNT)
    op.results[0].replace_all_uses_with(b.to_index(count))


def _undo(op: ir.Operation, headers: dict[ir.Value, ir.Value]) -> None:
    if grad.is_undone(op):
        return
    log, mark, array = op.operands
    header = headers[log]
    element, rank = log_parts(log.type)
    i64 = b.integer_type(64)
    mark = b.index_cast(mark, i64)
    loop = b.while_loop([])
    with at_end(loop.before, op.location):
        b.go_on_if(b.compare(b.SGT, _read(header, _COUNT), mark))
    with at_end(loop.after, op.location):
        count = b.sub(_read(header, _COUNT), _word(1))
        b.write(count, header, [b.index(_COUNT)])
        places = _entry(header, count, rank + 1)
        indices = [b.to_index(b.make(Llvm.LOAD, i64, [place])) for place in places[:-1]]
        field.store(b.make(Llvm.LOAD, element, [places[-1]]), array, indices)
        b.yield_()


def _close(op: ir.Operation, headers: dict[ir.Value, ir.Value]) -> None:
    b.llvm_call(_FREE, [b.inttoptr(_read(headers[op.operands[0]], _ADDRESS), pointer_type())])


_HANDLERS = {
    grad.OpenOp.OPERATION_NAME: _open,
    grad.RecordOp.OPERATION_NAME: _record,
    grad.MarkOp.OPERATION_NAME: _mark,
    grad.UndoOp.OPERATION_NAME: _undo,
    grad.CloseOp.OPERATION_NAME: _close,
}
