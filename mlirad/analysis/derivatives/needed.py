"""Primal values that the reverse sweep reads, and how it gets each of them.

The reverse of a function runs every block in one of two ways. Run *reversed* (R), a block's needed
values are computed anew and then its ops are reversed. Run *forward* (F), a loop or branch is
executed for what it computes: its results, or the history of its carried values. Inside a block run
forward everything runs forward, so a point of execution is described by how many of the blocks
around a value run reversed: the key of a need is (value, reversed blocks).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlirad.analysis.derivatives.activity import Activity, stack_of
from mlirad.analysis.derivatives.kept_values import stacks
from mlirad.analysis.derivatives.redone import base_depth, find_redone, reads_what_it_writes
from mlirad.analysis.derivatives.work import find_work
from mlirad.analysis.rules.table import RULES, primal_reads
from mlirad.dialect.field import (
    AtomicKind,
    ClockOp,
    atomic_kind,
    is_access,
    is_load,
    is_write,
    replaces,
)
from mlirad.dialect.grad import AllocOp, CustomOp, PopOp, PushOp
from mlirad.errors import SplitError
from mlirad.ir.custom import vjp_reads
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.structured import is_for, is_parallel
from mlirad.ir.walk import Array

Key = tuple[int, int]
_UNREPEATABLE = (
    "a derivative depends on this clock, which says something else when it is read again: store "
    "what it says in a field, and read that in another kernel"
)


class NeededValues:
    """`keys` are the needs; `saved` the loop-carried values kept for every iteration; `replayed`
    the writes to cells local to the launch that are done again; `work` the structured ops that hold
    something to reverse.

    `runs` are the nodes that fill, and free, stacks of an earlier reverse, with the reversed blocks
    around them where they do.

    `stored` are values that the reverse loads from where the launch has stored them.

    `redone` are the writes to `arrays`, and what is around them inside a parallel loop (or the
    function): the reverse does them again and undoes them, so that memory moves back with it (see
    `sweeps/undo.py`). So it is for loops that read what they overwrite; `steady` are the other ones
    among `redone`, whose iterations the reverse takes from memory as it was before the loop.
    """

    def __init__(
        self,
        graph: Graph,
        activity: Activity,
        arrays: frozenset[Array] = frozenset(),
        stored: Mapping[int, Node] = MappingProxyType({}),
    ) -> None:
        self.graph, self.activity, self.arrays, self.stored = graph, activity, arrays, stored
        self._stacks = stacks(graph)
        self.work = find_work(graph, activity)
        self.redone = find_redone(graph, arrays)
        self.steady = {node for node in self.redone if is_for(node) and node in self.work}
        self._find_needs()
        while moving := {
            loop
            for loop in self.steady
            if reads_what_it_writes(graph, loop, self.keys, self.work, self.redone)
        }:
            self.steady -= moving
            self._find_needs()

    def _find_needs(self) -> None:
        """Follow what is needed, if the loops that are `steady` do not write again in reverse."""
        self.keys: set[Key] = set()
        self.saved: set[int] = set()
        self.replayed: set[Node] = set()
        self.runs: set[tuple[Node, int]] = set()
        self.reasons: dict[int, Node] = {}
        self._pending: list[Key] = []
        self._last_levels: dict[Node, int] = {}
        for loop in self.steady:
            for inner in loop.walk():
                level = self._last_levels.get(inner, loop.block.depth + 1)
                self._last_levels[inner] = min(level, loop.block.depth + 1)
        self._seed(self.graph.body)
        self._redo()
        self._close()

    def is_redone(self, node: Node, level: int) -> bool:
        """Return whether a write is done again, or there is one in a loop or branch, where so many
        of the blocks around it run reversed."""
        return node in self.redone and level <= self._last_levels.get(node, level)

    def moves_memory(self, node: Node) -> bool:
        """Return whether memory moves back with the reverse of a loop, or of a write."""
        return self.is_redone(node, node.block.depth + 1) and node not in self.steady

    def _need(self, value: int, reversed_blocks: int, reason: Node | None = None) -> None:
        depth = self.graph.depth_of(value)
        key = (value, min(reversed_blocks, depth + 1))
        if key not in self.keys:
            self.keys.add(key)
            if reason is not None:
                self.reasons.setdefault(value, reason)
            self._pending.append(key)

    def _seed(self, block: BlockNode) -> None:
        depth = block.depth + 1
        for node in block.nodes:
            if node not in self.work:
                continue
            self._seed_node(node, depth)
            for inner in node.blocks:
                self._seed(inner)

    def _seed_node(self, node: Node, depth: int) -> None:
        if is_access(node):
            for index in node.indices:
                self._need(index, depth, node)
            if is_write(node) and not (replaces(node.op) or _is_add(node)):
                self._need(node.operands[0], depth, node)
        elif PushOp.holds(node) or PopOp.holds(node):
            self._need(node.operands[-1], depth, node)
            allocation = self._stacks[stack_of(node)[1]].allocation
            self._need(allocation.operands[0], allocation.block.depth + 1, node)
        elif node.blocks:
            self._need_control(node, depth, node)
        elif node.name in RULES:
            for position, operand in enumerate(node.operands):
                if operand in self.activity.varied and RULES[node.name][position] is not None:
                    reads, reads_result = primal_reads(node.name, position)
                    for read in reads:
                        self._need(node.operands[read], depth, node)
                    if reads_result:
                        self._need(node.results[0], depth, node)
        elif CustomOp.holds(node):
            for value in vjp_reads(node, self.activity.varied):
                self._need(value, depth, node)

    def _redo(self) -> None:
        """Need what the writes that are done again need, in every way their blocks run."""
        for node in self.graph.nodes():
            if is_write(node) and node in self.redone:
                around = [owner for owner in reversed(node.owners) if not is_parallel(owner)]
                base, deepest = base_depth(node), self._reversed_blocks(node)
                for inner in [node, *around]:
                    for level in range(base + 1, min(inner.block.depth + 1, deepest) + 1):
                        if self.is_redone(inner, level):
                            self._need_to_run(inner, level)

    def _reversed_blocks(self, node: Node) -> int:
        """Return how many of the blocks around a node run reversed at most: one that holds nothing
        to reverse runs forward."""
        count = 1
        for owner in node.owners:
            if owner not in self.work:
                break
            count += 1
        return count

    def _need_to_run(self, node: Node, level: int) -> None:
        for operand in node.flow.control if node.blocks else node.operands:
            is_value = is_write(node) and operand == node.operands[0]
            self._need(operand, level, None if is_value else node)

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
        if value in self.stored:
            for operand in self.stored[value].operands[1:]:
                self._need(operand, level, reason)
            return
        if node.blocks:
            self._need_control(node, level, reason)
            self._need_sources(node, value, level, reason)
            return
        if ClockOp.holds(node):
            raise SplitError(_UNREPEATABLE, nearest_location(node.op))
        for operand in node.operands:
            self._need(operand, level, reason)
        if is_load(node) and node.array in self.activity.cells:
            self._replay(node)
        if AllocOp.holds(node):
            self._fill(node, level)

    def _close_argument(self, block: BlockNode, value: int, level: int) -> None:
        """Needs of what a loop carries: its history where the loop runs reversed, and what running
        it forward takes."""
        node = block.owner
        if node is None or value not in node.flow.sources:
            return
        reason = self.reasons.get(value)
        is_reversed = level == block.depth + 1
        forward = level - 1 if is_reversed else level
        self._need_control(node, forward, reason)
        if value not in node.flow.arguments:
            self._need_sources(node, value, level, reason)
            return
        if is_reversed:
            self.saved.add(value)
        self._need(value, forward, reason)
        self._need_sources(node, value, forward, reason)

    def _need_control(self, node: Node, level: int, reason: Node | None) -> None:
        for value in node.flow.control:
            self._need(value, level, reason)

    def _need_sources(self, node: Node, value: int, level: int, reason: Node | None) -> None:
        for source in node.flow.sources[value]:
            self._need(source, level, reason)

    def _fill(self, alloc: Node, level: int) -> None:
        """Push all that is on a stack, and free it, where its block runs forward."""
        stack = self._stacks[alloc.results[0]]
        frees = stack.frees if level <= alloc.block.depth else ()
        self.runs.update((node, level) for node in (*stack.pushes, *stack.around, *frees))
        for operand in [operand for push in stack.pushes for operand in push.operands]:
            self._need(operand, level)
        for owner in stack.around:
            self._need_control(owner, level, None)

    def _replay(self, load: Node) -> None:
        """Everything written to a local cell is done again, in order, before the reverse sweep."""
        for node in self.graph.nodes():
            if is_write(node) and node.array == load.array and node not in self.replayed:
                self.replayed.add(node)
                for operand in node.operands:
                    self._need(operand, 1, load)
                for owner in reversed(node.owners):
                    self.replayed.add(owner)
                    self._need_control(owner, 1, load)
                    for inner in owner.walk() if is_parallel(owner) else ():
                        if inner in self.redone:  # which the loop reads
                            self._need_to_run(inner, 1)


def _is_add(node: Node) -> bool:
    return atomic_kind(node.op) == AtomicKind.ADD


def needed_of(activity: Activity, arrays: frozenset[Array] = frozenset()) -> NeededValues:
    """Return what the reverse of a function needs, which passes that only set marks share."""
    graph = activity.graph
    return graph.fact(
        (NeededValues, activity, arrays), lambda: NeededValues(graph, activity, arrays)
    )
