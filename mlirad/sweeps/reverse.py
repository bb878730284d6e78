"""The reverse sweep: adjoints of operands from adjoints of results, ops last to first."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.dialect import field, grad
from mlirad.ir.graph import BlockNode, Node
from mlirad.ir.ops import Scf
from mlirad.ir.structured import is_branch, is_for, is_while
from mlirad.sweeps import reverse_kept as kept
from mlirad.sweeps import reverse_loops as loops
from mlirad.sweeps import reverse_memory as memory
from mlirad.sweeps import reverse_regions as regions
from mlirad.sweeps import reverse_scalars as scalars
from mlirad.sweeps.adjoints import Adjoints, AdjointSweep
from mlirad.sweeps.recompute import Environment


class Reverse(AdjointSweep):
    """Emits the reverse of blocks."""

    def function(self, env: Environment) -> None:
        """The reverse of the whole function."""
        with self.undo.within(self.graph.body, env):
            self.recompute.block(self.graph.body, 1, env)
            with self.undo.again():
                self.block(self.graph.body, env, {})

    def block(self, block: BlockNode, env: Environment, adj: Adjoints) -> None:
        """Emit the reverse of a block whose needed values are at hand."""
        for node in reversed(block.nodes[:-1]):
            with node.op.location:
                if self.needed.is_redone(node, block.depth + 1):
                    self._undo(node, env)
                if node in self.needed.work or node.name in _OF_STACKS:
                    _HANDLERS.get(node.name, scalars.scalar)(self, node, env, adj)
                    if self.needed.moves_memory(node) and (is_for(node) or is_while(node)):
                        self.undo.is_back(node)

    def _undo(self, node: Node, env: Environment) -> None:
        """Take back what computing the block anew did at a node. The iterations of a reversed loop
        unwind themselves: unless it reverses nothing after all, its first one finds the logs
        unwound already. A steady one needs memory as it was before it."""
        if not node.blocks:
            self.undo.undo_write(node, env)
        elif is_branch(node) or node not in self.needed.work or node in self.needed.steady:
            self.undo.undo_to(self.undo.before[node])


_OF_STACKS = {grad.AllocOp.OPERATION_NAME, grad.FreeOp.OPERATION_NAME}
_HANDLERS: dict[str, Callable[[AdjointSweep, Node, Environment, Adjoints], None]] = {
    field.LoadOp.OPERATION_NAME: memory.load,
    field.StoreOp.OPERATION_NAME: memory.store,
    field.AtomicOp.OPERATION_NAME: memory.atomic,
    grad.AllocOp.OPERATION_NAME: kept.alloc,
    grad.PushOp.OPERATION_NAME: kept.push,
    grad.PopOp.OPERATION_NAME: kept.pop,
    grad.FreeOp.OPERATION_NAME: kept.free,
    Scf.IF: regions.branch,
    Scf.FOR: loops.for_loop,
    Scf.WHILE: loops.while_loop,
    Scf.PARALLEL: regions.parallel_loop,
    grad.CustomOp.OPERATION_NAME: scalars.custom,
}
