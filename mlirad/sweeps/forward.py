"""Dual numbers: every op again, and beside it the tangents of its results (Griewank and Walther
2008, §3.1).

A value that carries a derivative has as many tangents as there are directions. Tangents of scalars
are values, those of arrays live in arrays of the same shape. Rules come from the tables that
reverse mode transposes.
"""

from __future__ import annotations

from collections.abc import Callable

from mlirad.dialect import field, grad
from mlirad.ir.graph import BlockNode, Node
from mlirad.ir.ops import Arith, Scf
from mlirad.sweeps import forward_kept as kept
from mlirad.sweeps import forward_memory as memory
from mlirad.sweeps import forward_regions as regions
from mlirad.sweeps import forward_scalars as scalars
from mlirad.sweeps.tangents import TangentSweep


class Forward(TangentSweep):
    """Emits the ops of blocks, and beside them the tangents of their results."""

    def block(self, block: BlockNode) -> None:
        """Emit what stands in front of a block's terminator."""
        for node in block.nodes[:-1]:
            with node.op.location:
                _HANDLERS.get(node.name, scalars.scalar)(self, node)


_HANDLERS: dict[str, Callable[[TangentSweep, Node], None]] = {
    field.LoadOp.OPERATION_NAME: memory.load,
    field.StoreOp.OPERATION_NAME: memory.store,
    field.AtomicOp.OPERATION_NAME: memory.atomic,
    field.AllocaOp.OPERATION_NAME: memory.alloca,
    grad.AllocOp.OPERATION_NAME: kept.alloc,
    grad.PushOp.OPERATION_NAME: kept.push,
    grad.PopOp.OPERATION_NAME: kept.pop,
    grad.FreeOp.OPERATION_NAME: kept.free,
    grad.OpenOp.OPERATION_NAME: kept.open_,
    grad.RecordOp.OPERATION_NAME: kept.record,
    grad.UndoOp.OPERATION_NAME: kept.undo,
    grad.CloseOp.OPERATION_NAME: kept.close,
    Arith.SELECT: scalars.choice,
    Scf.IF: regions.branch,
    Scf.FOR: regions.for_loop,
    Scf.WHILE: regions.while_loop,
    Scf.PARALLEL: regions.parallel_loop,
    grad.CustomOp.OPERATION_NAME: scalars.custom,
}
