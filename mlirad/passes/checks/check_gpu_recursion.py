"""Reject code for a GPU whose functions call themselves: a thread's stack has no room for them.

Expects outlined kernels (`gpu-kernel-outlining`), with the functions that they call.
"""

from mlirad.bindings import ir
from mlirad.ir.ops import Func, Gpu
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.walk import block_operations, operations


def check_gpu_recursion(module: ir.Operation) -> None:
    """Refuse GPU kernels that call recursive functions."""
    for holder in operations(module):
        if holder.name == Gpu.MODULE:
            _check(block_operations(holder.regions[0].blocks[0]))


def _check(symbols: list[ir.Operation]) -> None:
    calls = {symbol_of(op): _calls(op) for op in symbols if op.name in (Func.FUNC, Gpu.FUNC)}
    for name in calls:
        reached, pending = set[str](), [name]
        while pending:
            for callee, op in calls.get(pending.pop(), []):
                if callee == name:
                    refuse(
                        op,
                        f"'{name}' calls itself, for which the threads of a GPU have no stack: "
                        "another machine can run it",
                    )
                if callee not in reached:
                    reached.add(callee)
                    pending.append(callee)


def _calls(function: ir.Operation) -> list[tuple[str, ir.Operation]]:
    return [
        (ir.FlatSymbolRefAttr(op.attributes["callee"]).value, op)
        for op in operations(function)
        if op.name == Func.CALL
    ]
