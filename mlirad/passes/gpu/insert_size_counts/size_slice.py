"""The operations that sizes of saved values depend on, for `insert-size-counts`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mlirad.dialect.field import AllocaOp, is_store, is_write
from mlirad.dialect.grad import AllocOp, MarkOp, PopOp, PushOp, RecordOp, UndoOp, is_again
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.ops import Memref
from mlirad.ir.structured import is_branch, is_while
from mlirad.ir.walk import Array
from mlirad.passes.gpu.insert_size_counts.bounded_loops import bounding_condition
from mlirad.passes.gpu.insert_size_counts.memory_changes import (
    Changes,
    Way,
    can_copy,
    matters_to,
    shut_by,
)


class Conflict(NamedTuple):
    """A load that a size depends on, of an array that is changed meanwhile."""

    load: Node
    change: Node


class SizeSlice:
    """A slice of ops at the top of a function: `values` are computed, what is `around` them runs,
    and `effects` are done.

    Effects are pushes to stacks that are popped from, writes to local arrays that are read, and
    what changes the length of a log. A log whose length is looked for has as many entries as were
    noted in the first run of all code: what is noted again was undone before.

    `way` says what becomes of memory. `BOUNDED`, sizes may come out larger: loops that a counter
    ends at the latest run until it does (`conditions` has what then ends them), and of branches
    both sides run, unless a value `decided` is one of what they give. `WRITING` and `FIRST`, arrays
    are written where that matters to a later load: `written` has these stores. `UNDOING`, that is
    so for arrays that are only written; those that go back are changed by all that changes them,
    but for loops and branches that can be left out, which takes `logs` that can be filled.
    """

    def __init__(self, graph: Graph, span: Sequence[Node], sites: Iterable[Node], way: Way) -> None:
        self.graph, self.way = graph, way
        self.written: set[Node] = set()
        self.conditions: dict[Node, int] = {}
        self.decided: set[Node] = set()
        self.values: set[int] = set()
        self.around: set[Node] = set()
        self.effects: set[Node] = set()
        self.stacks: set[Node] = set()  # those popped from
        self.logs: set[int] = set()  # those undone to
        self.counted: set[int] = set()  # those whose length is looked for
        self.conflicts: list[Conflict] = []
        self._nodes = [node for top in span for node in (top, *top.walk())]
        self._inside = set(self._nodes)
        self._changes = Changes(graph, self._nodes)
        self._loads: list[Node] = []
        self._moved: set[Array] = set()
        self._shut: dict[Node, list[Node]] = {}
        self._pending: list[int] = []
        for site in sites:
            if AllocOp.holds(site):
                self._want(site.operands)
                self._reach(site)
            else:
                self._count(site.results[0])
        while self._pending:
            self._compute(self._pending.pop())
        self.conflicts += [Conflict(load, load) for load in self._loads if self._is_extra(load)]

    @property
    def memory(self) -> set[Node]:
        """The stacks and logs that have to have a size before."""
        logs = {self.graph.defined[log] for log in self.logs}
        return self.stacks | {log for log in logs if isinstance(log, Node)}

    def is_outside(self, value: int) -> bool:
        """Return whether a value is made in front of the ops, or around them."""
        return self.graph.defined[value] not in self._inside

    def _is_extra(self, node: Node) -> bool:
        """Return whether the slice may come to a node where the program does not."""
        return self.way is Way.BOUNDED and any(
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
        if node in self.around:
            return
        self.around.add(node)
        bound = bounding_condition(self.graph, node) if is_while(node) else None
        if self.way is Way.BOUNDED and bound is not None:
            self.conditions[node] = bound
            self._want([bound])
        elif not (self.way is Way.BOUNDED and is_branch(node)):
            self._want(node.flow.control)
            self.decided.add(node)
        self._reach(node)
        for change in self._shut.pop(node, []):
            self._move(change)

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
            self._fill_log(node.operands[0])
        else:
            self._want(node.operands)
            if PopOp.holds(node):
                self._fill(node.operands[0])
            elif AllocOp.holds(node):
                self.stacks.add(node)
            elif node.is_access:
                self._look_at(node)
            elif node.name == Memref.LOAD:
                self._note(node.operands[0])

    def _fill(self, stack: int) -> None:
        """Push to a stack what the program pushes."""
        for node in self._nodes:
            if PushOp.holds(node) and node.operands[1] == stack:
                self._do(node, node.operands)

    def _note(self, slot: int) -> None:
        """Do what leaves values in a slot, of an earlier count."""
        for node in self._nodes:
            if node.name == Memref.STORE and node.operands[1] == slot:
                self._do(node, node.operands)

    def _count(self, log: int) -> None:
        """Follow the length of a log."""
        self.counted.add(log)
        for record in self._changes.records(log):
            if not is_again(record.op):
                self._do(record, ())

    def _look_at(self, load: Node) -> None:
        """Do what changes the memory of a load; or it is a conflict."""
        self._loads.append(load)
        changes = self._changes.changes_of(load.array)
        if self._is_local(load.array_value):
            for node in changes:
                if is_write(node):
                    self._do(node, node.operands)
        elif self.way is Way.UNDOING and self._changes.goes_back(load.array):
            self._move_array(load.array, changes)
        else:
            for node in changes:
                is_left_out = self.way is Way.FIRST and is_again(node.op)
                if matters_to(node, load) and not is_left_out:
                    self._store(node, load)

    def _store(self, node: Node, load: Node) -> None:
        """Write what the program writes."""
        if self.way in (Way.READING, Way.BOUNDED) or not can_copy(node):
            self.conflicts.append(Conflict(load, node))
            return
        self.written.add(node)
        self._do(node, node.operands)

    def _move_array(self, array: Array, changes: Iterable[Node]) -> None:
        """Change an array as the program does, back and forth."""
        if array not in self._moved:
            self._moved.add(array)
            for node in changes:
                self._move(node)

    def _fill_log(self, log: int) -> None:
        """Note in a log what the program notes."""
        if log not in self.logs:
            self.logs.add(log)
            for node in [*self._changes.records(log), *self._changes.noted_in(log)]:
                self._move(node)

    def _move(self, node: Node) -> None:
        """Do what changes an array or a log, if what is around it is not left out."""
        shut = shut_by(node, self.around, self._inside)
        if shut is not None:
            self._shut.setdefault(shut, []).append(node)
        elif UndoOp.holds(node):
            self._do(node, node.operands[1:2])
            self._fill_log(node.operands[0])
        elif RecordOp.holds(node):
            self._do(node, [node.operands[0], *node.operands[2:]])
        elif is_store(node):
            self._do(node, node.operands)
        else:
            self.conflicts.append(Conflict(node, node))

    def _is_local(self, array: int) -> bool:
        definition = self.graph.defined[array]
        return (
            isinstance(definition, Node)
            and definition in self._inside
            and AllocaOp.holds(definition)
        )
