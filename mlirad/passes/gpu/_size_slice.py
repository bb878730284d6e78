"""What has to run so that the sizes of saved values are found, for `insert-size-counts`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mlirad.dialect.field import AllocaOp, is_store, is_write
from mlirad.dialect.grad import AllocOp, MarkOp, PopOp, PushOp, RecordOp, UndoOp
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import is_branch, is_serial_loop, is_while
from mlirad.ir.walk import Array, array_root
from mlirad.passes.gpu._bounded_loops import bounding_condition


class Conflict(NamedTuple):
    """A load that a size depends on, of an array that is written meanwhile."""

    load: Node
    write: Node


class SizeSlice:
    """Of some ops at the top of a function: `values` are computed, what is `around` them runs, and
    `effects` are done.

    Effects are pushes to stacks that are popped from, writes to local arrays that are read, and
    what changes the length of a log. Arrays of the program are not written.

    With `bounded`, sizes may come out larger. Loops that a counter ends at the latest run until it
    does: `conditions` has what then ends them. Of branches both sides run, unless a value `decided`
    is one of what they give; logs do not become shorter there. `writing`, arrays of the program are
    written where that matters to a later load: `written` has these stores.
    """

    def __init__(
        self,
        graph: Graph,
        span: Sequence[Node],
        sites: Iterable[Node],
        *,
        bounded: bool = False,
        writing: bool = False,
    ) -> None:
        self.graph, self._bounded, self._writing = graph, bounded, writing
        self.written: set[Node] = set()
        self.conditions: dict[Node, int] = {}
        self.decided: set[Node] = set()
        self._loads: list[Node] = []
        self.values: set[int] = set()
        self.around: set[Node] = set()
        self.effects: set[Node] = set()
        self.stacks: set[Node] = set()  # those popped from
        self.logs: set[int] = set()  # those whose length matters
        self.conflicts: list[Conflict] = []
        self._nodes = [node for top in span for node in (top, *top.walk())]
        self._inside = set(self._nodes)
        self._pending: list[int] = []
        for site in sites:
            if AllocOp.holds(site):
                self._want(site.operands)
                self._reach(site)
            else:
                self._measure(site.results[0])
        while self._pending:
            self._compute(self._pending.pop())
        self.conflicts += [Conflict(load, load) for load in self._loads if self.is_extra(load)]

    def is_extra(self, node: Node) -> bool:
        """Whether the slice may come to a node where the program does not."""
        return self._bounded and any(
            owner in self.conditions or (is_branch(owner) and owner not in self.decided)
            for owner in node.owners
            if owner in self.around
        )

    def _want(self, values: Iterable[int]) -> None:
        new = set(values) - self.values
        self.values |= new
        self._pending.extend(new)

    def _reach(self, node: Node) -> None:
        """Get to where a node runs."""
        for owner in node.owners:
            if owner in self._inside:
                self._run(owner)

    def _run(self, node: Node) -> None:
        if node not in self.around:
            self.around.add(node)
            bound = bounding_condition(self.graph, node) if is_while(node) else None
            if self._bounded and bound is not None:
                self.conditions[node] = bound
                self._want([bound])
            elif not (self._bounded and is_branch(node)):
                self._want(node.flow.control)
                self.decided.add(node)
            self._reach(node)

    def _do(self, node: Node, operands: Iterable[int]) -> None:
        if node not in self.effects:
            self.effects.add(node)
            self._want(operands)
            self._reach(node)

    def _compute(self, value: int) -> None:
        definition = self.graph.defined[value]
        node = definition.owner if isinstance(definition, BlockNode) else definition
        if node is None or node not in self._inside:
            return
        self._reach(node)
        if node.blocks:
            self._run(node)
            if is_branch(node):
                self.decided.add(node)
                self._want(node.flow.control)
            self._want(source for source, targets in node.flow.edges if value in targets)
        elif MarkOp.holds(node):
            self._measure(node.operands[0])
        else:
            self._want(node.operands)
            if PopOp.holds(node):
                self._fill(node.operands[0])
            elif AllocOp.holds(node):
                self.stacks.add(node)
            elif node.is_access:
                self._write(node)
            elif node.name == "memref.load":
                self._note(node.operands[0])

    def _fill(self, stack: int) -> None:
        """Push to a stack what the program pushes."""
        for node in self._nodes:
            if PushOp.holds(node) and node.operands[1] == stack:
                self._do(node, node.operands)

    def _note(self, slot: int) -> None:
        """Do what leaves values in a slot, of an earlier count."""
        for node in self._nodes:
            if node.name == "memref.store" and node.operands[1] == slot:
                self._do(node, node.operands)

    def _measure(self, log: int) -> None:
        """Follow the length of a log."""
        if log in self.logs:
            return
        self.logs.add(log)
        for node in self._nodes:
            if RecordOp.holds(node) and node.operands[1] == log:
                self._do(node, ())
            elif UndoOp.holds(node) and node.operands[0] == log:
                self._do(node, node.operands[1:2])

    def _write(self, load: Node) -> None:
        """Do the writes to a local array that is read; others are conflicts."""
        is_local = self._is_local(load.array_value)
        self._loads.append(load)
        for node in self._nodes:
            if self._array_of(node) != load.array:
                continue
            if is_local and is_write(node):
                self._do(node, node.operands)
            elif not self._writing:
                self.conflicts.append(Conflict(load, node))
            elif _matters_to(node, load):
                self._store(node, load)

    def _store(self, node: Node, load: Node) -> None:
        """Write what the program writes; but what it undoes is not known."""
        if not is_store(node):
            self.conflicts.append(Conflict(load, node))
            return
        self.written.add(node)
        self._do(node, node.operands)

    def _array_of(self, node: Node) -> Array | None:
        if is_write(node):
            return node.array
        if UndoOp.holds(node):
            return array_root(self.graph.values[node.operands[2]])
        return None

    def _is_local(self, array: int) -> bool:
        definition = self.graph.defined[array]
        return (
            isinstance(definition, Node)
            and definition in self._inside
            and AllocaOp.holds(definition)
        )


def _matters_to(write: Node, load: Node) -> bool:
    """Whether a write may run before a load."""
    around = {owner for owner in load.owners if is_serial_loop(owner)}
    return write.order < load.order or any(owner in around for owner in write.owners)
