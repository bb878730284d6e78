"""GPU kernels as functions of a CPU: a loop over the blocks of the grid, and in it one over the
threads of a block.

Assumes outlined kernels (`gpu-kernel-outlining`) of one block of structured code each. Behind it a
module holds no `gpu` dialect: every `gpu.func` is a private function, which takes the sizes of the
grid and of the blocks in front of its arguments, every launch a call of it.
"""

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.c_print import print_text
from mlirad.ir.gpu.thread_order import ORDERS, ThreadOrder
from mlirad.ir.limits import OneOf, Range
from mlirad.ir.ops import Func, Gpu, Memref
from mlirad.ir.requirements import launches_of_outlined_kernels, refuse, symbol_of
from mlirad.ir.walk import before, block_operations, operations, replace
from mlirad.passes.gpu.run_threads_in_loops.device_functions import SIZES, move_functions
from mlirad.passes.gpu.run_threads_in_loops.grid_blocks import run_blocks

REQUIRES = (launches_of_outlined_kernels,)


def run_threads_in_loops(
    module: ir.Operation,
    *,
    order: Annotated[str, OneOf(ORDERS)] = "ascending",
    seed: Annotated[int, Range(0, (1 << 31) - 1)] = 0,
) -> None:
    """Turn GPU kernels into functions with loops over blocks and threads, and launches into
    calls."""
    kernels: dict[tuple[str, str], ir.Operation] = {}
    for holder in block_operations(module.regions[0].blocks[0]):
        if holder.name == Gpu.MODULE:
            for name, function in move_functions(module, holder).items():
                kernels[symbol_of(holder), name] = function
            holder.erase()
    for function in kernels.values():
        run_blocks(function, ThreadOrder(order, seed))
    printed = 0
    for op in list(operations(module)):
        if op.name == Gpu.LAUNCH_FUNC:
            _call(op, kernels)
        elif op.name in _SCRATCH:
            _use_own_memory(op)
        elif op.name == Gpu.PRINTF:
            _print(module, op, printed)
            printed += 1
        elif op.name.startswith("gpu."):
            refuse(op, f"'{op.name}' cannot be run on a CPU")
    if "gpu.container_module" in module.attributes:
        del module.attributes["gpu.container_module"]


_SCRATCH = {Gpu.ALLOC: Memref.ALLOC, Gpu.DEALLOC: Memref.DEALLOC, Gpu.MEMCPY: Memref.COPY}


def _call(op: ir.Operation, kernels: dict[tuple[str, str], ir.Operation]) -> None:
    """Call the function of a kernel instead of launching it."""
    sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    tokens, cluster, shared = sizes[0], sum(sizes[7:10]), sizes[10]
    if tokens or cluster or shared or len(op.results):
        refuse(op, "a launch with a stream, clusters or memory whose size it gives")
    holder, name = ir.SymbolRefAttr(op.attributes["kernel"]).value
    if (holder, name) not in kernels:
        refuse(op, f"a launch of '{name}', which is not a kernel")
    operands = list(op.operands)
    with before(op):
        counts = [_as_index(value) for value in operands[:SIZES]]
        symbol = ir.FlatSymbolRefAttr.get(symbol_of(kernels[holder, name]))
        b.effect(Func.CALL, [*counts, *operands[SIZES:]], callee=symbol)
    op.erase()


def _as_index(value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.IndexType):
        return value
    return b.to_index(value)


def _use_own_memory(op: ir.Operation) -> None:
    """Allocate memory of the host in the place of the device's."""
    if any(str(value.type) == "!gpu.async.token" for value in (*op.operands, *op.results)):
        refuse(op, f"'{op.name}' in a stream")
    operands = list(op.operands)
    if not len(op.results):  # a copy names its target last
        operands.reverse()
    with before(op):
        replacement = ir.Operation.create(
            _SCRATCH[op.name],
            [value.type for value in op.results],
            operands,
            {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(op.operands), 0])}
            if len(op.results)
            else None,
        )
    replace(op, replacement.results)


def _print(module: ir.Operation, op: ir.Operation, number: int) -> None:
    text = ir.StringAttr(op.attributes["format"]).value
    with before(op):
        print_text(module, f"print.{number}", text, list(op.operands))
    op.erase()
