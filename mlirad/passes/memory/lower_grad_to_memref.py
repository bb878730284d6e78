"""Give saved values storage: the stack of the function where the loop is known to be short, the
heap elsewhere."""

from mlirad.bindings import ir
from mlirad.dialect.grad import AllocOp, FreeOp, PopOp, PushOp, stack_element
from mlirad.ir import build as b
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import before, constant_integer, operations

ON_STACK = 256  # slots
_Buffers = dict[ir.Value, tuple[ir.Value, bool]]  # of each stack: memory, and whether on the heap


def lower_grad_to_memref(module: ir.Operation) -> None:
    """Replace stacks of saved values by buffers."""
    buffers: _Buffers = {}
    stack_ops = [op for op in operations(module) if op.name in _HANDLERS]
    for op in stack_ops:
        with before(op):
            _HANDLERS[op.name](op, buffers)
    for op in reversed(stack_ops):
        op.erase()


def _allocate(op: ir.Operation, buffers: _Buffers) -> None:
    element, trips = stack_element(op.results[0].type), constant_integer(op.operands[0])
    if trips is not None and trips <= ON_STACK:
        memory = b.alloca(ir.MemRefType.get([max(1, trips)], element))
        buffers[op.results[0]] = memory, False
    else:
        type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
        buffers[op.results[0]] = b.alloc(type_, [op.operands[0]]), True


def _push(op: ir.Operation, buffers: _Buffers) -> None:
    value, stack, position = op.operands
    b.write(value, _buffer(op, stack, buffers)[0], [position])


def _pop(op: ir.Operation, buffers: _Buffers) -> None:
    stack, position = op.operands
    op.results[0].replace_all_uses_with(b.read(_buffer(op, stack, buffers)[0], [position]))


def _free(op: ir.Operation, buffers: _Buffers) -> None:
    memory, is_on_heap = _buffer(op, op.operands[0], buffers)
    if is_on_heap:
        b.dealloc(memory)


def _buffer(op: ir.Operation, stack: ir.Value, buffers: _Buffers) -> tuple[ir.Value, bool]:
    if stack not in buffers:
        refuse(op, "a stack that no 'grad.alloc' before it makes")
    return buffers[stack]


_HANDLERS = {
    AllocOp.OPERATION_NAME: _allocate,
    PushOp.OPERATION_NAME: _push,
    PopOp.OPERATION_NAME: _pop,
    FreeOp.OPERATION_NAME: _free,
}
