"""Which primal values the reverse sweep reads, and how each comes to be there.

The reverse of a function runs every block in one of two ways. Run *reversed* (R), a block's needed
values are computed anew and then its ops are reversed. Run *forward* (F), a loop or branch is
executed for what it computes: its results, or the history of its carried values. Inside a block run
forward everything runs forward, so a point of execution is described by how many of the blocks
around a value run reversed: the key of a need is (value, reversed blocks).
"""

from __future__ import annotations

from mlirad.analysis.activity import Activity
from mlirad.analysis.rules.table import RULES, primal_reads
from mlirad.dialect.field import is_access, is_load, is_write, replaces
from mlirad.dialect.grad import CustomOp
from mlirad.ir.custom import vjp_reads
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import is_branch, is_for, is_parallel, is_while
from mlirad.ir.walk import Array, has_uses

Key = tuple[int, int]


class Needed:
    """`keys` are the needs; `saved` the loop-carried values kept for every iteration; `replayed`
    the writes to cells local to the launch that are done again; `work` the structured ops that hold
    something to reverse.

    `redone` are the writes to `arrays`, and what is around them inside a parallel loop (or the
    function): the reverse does them again and undoes them, so that memory moves back with it (see
    `_undo`).
    """

    def __init__(
        self, graph: Graph, activity: Activity, arrays: frozenset[Array] = frozenset()
    ) -> None:
        self.graph, self.activity, self.arrays = graph, activity, arrays
        self.redone: set[Node] = set()
        self.keys: set[Key] = set()
        self.saved: set[int] = set()
        self.replayed: set[Node] = set()
        self.reasons: dict[int, Node] = {}
        self._pending: list[Key] = []
        self.work: set[Node] = set()
        self._find_work(graph.body)
        self._seed(graph.body)
        self._redo()
        self._close()

    def _find_work(self, block: BlockNode) -> bool:
        found = False
        for node in block.nodes:
            has = self._is_work(node)
            for inner in node.blocks:
                has |= self._find_work(inner)
            if has:
                self.work.add(node)
            found |= has
        return found

    def _is_work(self, node: Node) -> bool:
        if is_write(node):
            return self.activity.is_differentiable(node)
        return any(v in self.activity.active for v in node.results)

    def _need(self, value: int, reversed_blocks: int, reason: Node | None = None) -> None:
        depth = self.graph.depth_of(value)
        key = (value, min(reversed_blocks, depth + 1))
        if key not in self.keys:
            self.keys.add(key)
            if reason is not None:
                self.reasons.setdefault(value, reason)
            self._pending.append(key)

    def _seed(self, block: BlockNode) -> None:
        here = block.depth + 1
        for node in block.nodes:
            if node not in self.work:
                continue
            self._seed_node(node, here)
            for inner in node.blocks:
                self._seed(inner)

    def _seed_node(self, node: Node, here: int) -> None:
        if is_access(node):
            for index in node.indices:
                self._need(index, here, node)
            if is_write(node) and not (replaces(node.op) or _is_add(node)):
                self._need(node.operands[0], here, node)
        elif is_branch(node):
            self._need(node.operands[0], here, node)
        elif is_for(node) or is_parallel(node):
            for bound in self._bounds(node):
                self._need(bound, here, node)
        elif is_while(node):
            self._need(node.blocks[0].terminator.operands[0], here, node)
        elif node.name in RULES:
            for position, operand in enumerate(node.operands):
                if operand in self.activity.varied and RULES[node.name][position] is not None:
                    reads, reads_result = primal_reads(node.name, position)
                    for read in reads:
                        self._need(node.operands[read], here, node)
                    if reads_result:
                        self._need(node.results[0], here, node)
        elif CustomOp.holds(node):
            for value in vjp_reads(node, self.activity.varied):
                self._need(value, here, node)

    @staticmethod
    def _bounds(node: Node) -> list[int]:
        return node.operands[:3] if is_for(node) else node.operands

    def _redo(self) -> None:
        """Need what the writes that are done again need, in every way their blocks run."""
        for node in self.graph.nodes():
            if is_write(node) and node.array in self.arrays and self._is_read_beside(node):
                self.redone.add(node)
                around = [owner for owner in reversed(node.owners) if not is_parallel(owner)]
                self.redone.update(around)
                base, deepest = base_depth(node), self._reversed_blocks(node)
                for inner in [node, *around]:
                    for level in range(base + 1, min(inner.block.depth + 1, deepest) + 1):
                        self._need_to_run(inner, level)

    def _is_read_beside(self, write: Node) -> bool:
        """Whether the parallel loop around a write reads its array, too: else no iteration has to
        see it again."""
        loop = next((owner for owner in reversed(write.owners) if is_parallel(owner)), None)
        return loop is None or any(
            node.array == write.array and not _is_only_written(node)
            for node in loop.walk()
            if node.is_access
        )

    def _reversed_blocks(self, node: Node) -> int:
        """How many of the blocks around a node run reversed at most: one that holds nothing to
        reverse runs forward."""
        count = 1
        for owner in node.owners:
            if owner not in self.work:
                break
            count += 1
        return count

    def _need_to_run(self, node: Node, level: int) -> None:
        if is_while(node):
            self._need_condition(node, level, node)
        elif is_branch(node):
            self._need(node.operands[0], level, node)
        else:
            for operand in self._bounds(node) if is_for(node) else node.operands:
                self._need(operand, level, node)

    def _close(self) -> None:
        while self._pending:
            value, level = self._pending.pop()
            definition = self.graph.defined[value]
            if isinstance(definition, BlockNode):
                self._close_argument(definition, value, level)
            else:
                self._close_result(definition, value, level)

    def _close_result(self, node: Node, value: int, level: int) -> None:
        reason = self.reasons.get(value)
        position = node.results.index(value)
        if is_branch(node):
            self._need(node.operands[0], level, reason)
            for block in node.blocks:
                self._need(block.terminator.operands[position], level, reason)
        elif is_for(node):
            self._need_carried(node, position, level, reason)
        elif is_while(node):
            self._need_condition(node, level, reason)
            self._need(node.blocks[0].terminator.operands[1 + position], level, reason)
        else:
            for operand in node.operands:
                self._need(operand, level, reason)
            if is_load(node) and node.array in self.activity.cells:
                self._replay(node)

    def _close_argument(self, block: BlockNode, value: int, level: int) -> None:
        node = block.owner
        if node is None or is_parallel(node) or (is_for(node) and value == block.arguments[0]):
            return
        reason = self.reasons.get(value)
        position = block.arguments.index(value)
        is_reversed = level == block.depth + 1
        forward = level - 1 if is_reversed else level
        if is_for(node):
            if is_reversed:
                self.saved.add(value)
            self._need_carried(node, position - 1, forward, reason)
            self._need(value, forward, reason)
            return
        before, after = node.blocks
        if block is after:
            self._need(before.terminator.operands[1 + position], level, reason)
            self._need_condition(node, forward, reason)
            return
        if is_reversed:
            self.saved.add(value)
        self._need(value, forward, reason)
        self._need(node.operands[position], forward, reason)
        self._need(after.terminator.operands[position], forward, reason)
        self._need_condition(node, forward, reason)

    def _need_carried(self, node: Node, position: int, level: int, reason: Node | None) -> None:
        for bound in node.operands[:3]:
            self._need(bound, level, reason)
        self._need(node.operands[3 + position], level, reason)
        self._need(node.blocks[0].terminator.operands[position], level, reason)

    def _need_condition(self, node: Node, level: int, reason: Node | None) -> None:
        self._need(node.blocks[0].terminator.operands[0], level, reason)

    def _replay(self, load: Node) -> None:
        """Everything written to a local cell is done again, in order, before the reverse sweep."""
        for node in self.graph.nodes():
            if is_write(node) and node.array == load.array and node not in self.replayed:
                self.replayed.add(node)
                for operand in node.operands:
                    self._need(operand, 1, load)
                for owner in reversed(node.owners):
                    self.replayed.add(owner)
                    if is_while(owner):
                        self._need_condition(owner, 1, load)
                    elif is_branch(owner):
                        self._need(owner.operands[0], 1, load)
                    else:
                        for bound in self._bounds(owner):
                            self._need(bound, 1, load)


def base_depth(node: Node) -> int:
    """The depth of the block that a node's iteration of a parallel loop, or else the function,
    begins with."""
    inside = [owner for owner in node.owners if is_parallel(owner)]
    return inside[-1].block.depth + 1 if inside else 0


def _is_add(node: Node) -> bool:
    return str(node.op.attributes["kind"]) == '"add"'


def _is_only_written(node: Node) -> bool:
    return is_write(node) and (
        (replaces(node.op) or _is_add(node)) and not any(map(has_uses, node.op.results))
    )
