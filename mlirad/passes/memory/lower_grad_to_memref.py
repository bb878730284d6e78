"""Give saved values storage: the stack of the function where the loop is known to be short, the
heap elsewhere."""

from mlirad.bindings import ir
from mlirad.dialect.grad import AllocOp, FreeOp, PopOp, PushOp, stack_element
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import before, constant_integer, operations

ON_STACK = 256  # slots
_STACK_OPS = (AllocOp, PushOp, PopOp, FreeOp)


def lower_grad_to_memref(module: ir.Operation) -> None:
    """Replace stacks of saved values by buffers."""
    buffers: dict[ir.Value, tuple[ir.Value, bool]] = {}
    for op in list(operations(module)):
        if AllocOp.holds(op):
            with before(op):
                buffers[op.results[0]] = _allocate(op)
        elif PushOp.holds(op):
            with before(op):
                b.write(op.operands[0], _buffer(buffers, op, 1)[0], [op.operands[2]])
        elif PopOp.holds(op):
            with before(op):
                op.results[0].replace_all_uses_with(
                    b.read(_buffer(buffers, op, 0)[0], [op.operands[1]])
                )
        elif FreeOp.holds(op):
            memory, on_heap = _buffer(buffers, op, 0)
            if on_heap:
                with before(op):
                    b.dealloc(memory)
    of_stacks = [op for op in operations(module) if any(kind.holds(op) for kind in _STACK_OPS)]
    for op in reversed(of_stacks):
        op.erase()


def _buffer(
    buffers: dict[ir.Value, tuple[ir.Value, bool]], op: ir.Operation, number: int
) -> tuple[ir.Value, bool]:
    stack = op.operands[number]
    if stack not in buffers:
        raise TaichiCompilationError(
            "a stack that no 'grad.alloc' before it makes", source_location(op.location)
        )
    return buffers[stack]


def _allocate(op: ir.Operation) -> tuple[ir.Value, bool]:
    element = stack_element(op.results[0].type)
    trips = constant_integer(op.operands[0])
    if trips is not None and trips <= ON_STACK:
        type_ = ir.MemRefType.get([max(1, trips)], element)
        return b.alloca(type_), False
    type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)
    return b.alloc(type_, [op.operands[0]]), True
