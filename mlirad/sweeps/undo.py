"""Memory that moves back with the reverse: writes that are done again, and undone where they are
reversed.

Some arrays hold values that the reverse needs and that the kernel overwrites. The tape gives such
arrays the elements back that they held before the launch. The reverse of a block starts from memory
as it was before the block and leaves it so: computing the block anew does its writes again,
reversing it undoes them, last first. A write that the block itself does keeps the old element as a
value. A loop or branch that is first run forward notes old elements in a log; where it is reversed,
the log is unwound to where the branch, or the iteration, began (the tape of Griewank and Walther
2008, §6, for values that recomputation replaces in part). A parallel loop that is run again for
what it leaves in a local does its writes again too, and undoes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from mlirad.analysis.derivatives.needed import NeededValues
from mlirad.analysis.derivatives.redone import base_depth
from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import array_of, atomic_kind, element_type, is_atomic
from mlirad.ir import build as b
from mlirad.ir.graph import BlockNode, Node
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.walk import Array

Environment = dict[int, ir.Value]
Marks = list[ir.Value]


class Undo:
    """Emits writes that are done again, and their undoing. `needed.redone` says which."""

    def __init__(self, needed: NeededValues) -> None:
        self.needed = needed
        self.logs: dict[Array, tuple[ir.Value, ir.Value]] = {}  # log and array, by array
        self.old: dict[Node, ir.Value] = {}
        self.before: dict[Node, Marks] = {}
        self.last: dict[Node, Marks] = {}  # before the condition that ended a `while`
        self.stacks: dict[Node, list[ir.Value]] = {}
        self._marks: Mapping[str, ir.Attribute] = {}

    @contextmanager
    def within(self, block: BlockNode, env: Environment) -> Iterator[None]:
        """A block that has logs of its own: an iteration of a parallel loop, or the function."""
        outer = self.logs, self._marks
        self.logs, self._marks = {}, {}
        self._open(block, env)
        yield
        for log, _ in self.logs.values():
            grad.close(log)
        self.logs, self._marks = outer

    @contextmanager
    def again(self) -> Iterator[None]:
        """Mark the writes and undos that are built in this block as repeated: an earlier run has
        made them before."""
        outer, self._marks = self._marks, grad.marks(grad.AGAIN)
        yield
        self._marks = outer

    def _open(self, block: BlockNode, env: Environment) -> None:
        owner = block.owner
        nodes = owner.walk() if owner is not None else self.needed.graph.nodes()
        for node in nodes:
            if (
                node in self.needed.redone
                and node.is_access
                and node.array not in self.logs
                and base_depth(node) == block.depth
            ):
                array = env[node.array_value]
                log = grad.open_(element_type(array.type), len(array_of(array.type)[1]))
                self.logs[node.array] = log, array

    def write(self, node: Node, env: Environment, *, runs_reversed: bool) -> None:
        """Do a write again, keeping what it overwrites."""
        value = env[node.operands[0]]
        array, indices = env[node.array_value], [env[i] for i in node.indices]
        old = field.load(array, indices)
        if runs_reversed:
            self.old[node] = old
        else:
            grad.record(old, self.logs[node.array][0], indices, self._marks)
        if is_atomic(node):
            value = round_like(b.combine(atomic_kind(node.op), old, value), node.op)
            env[node.results[0]] = old
        field.store(value, array, indices, self._marks)

    def undo_write(self, node: Node, env: Environment) -> None:
        """Give an element back what it held before a write of this block."""
        indices = [env[i] for i in node.indices]
        field.store(self.old[node], env[node.array_value], indices, self._marks)

    def marks(self) -> Marks:
        """Return where the logs stand."""
        return [grad.mark(log) for log, _ in self.logs.values()]

    def mark_last(self, loop: Node) -> None:
        """Note where the logs stand before the last evaluation of a condition."""
        self.last[loop] = self.marks()

    def undo_last(self, loop: Node) -> None:
        """Unwind what the last evaluation of a condition wrote, if it writes at all."""
        self.undo_to(self.last.get(loop, []))

    def undo_to(self, marks: Sequence[ir.Value]) -> None:
        """Unwind the logs."""
        for (log, array), mark in zip(self.logs.values(), marks):
            grad.undo(log, mark, array, self._marks)

    def is_back(self, node: Node) -> None:
        """Say that the reverse of a loop has unwound the logs."""
        marks = {**self._marks, **grad.marks(grad.UNDONE)}
        for (log, array), mark in zip(self.logs.values(), self.before[node]):
            grad.undo(log, mark, array, marks)

    def keep_marks(self, loop: Node, trips: ir.Value) -> None:
        """Make room for the marks of a loop's iterations."""
        self.stacks[loop] = [grad.alloc(b.index_type(), trips) for _ in self.logs]

    def push_marks(self, loop: Node, trip: ir.Value) -> None:
        """Note where the logs stand at the start of an iteration."""
        for stack, mark in zip(self.stacks[loop], self.marks()):
            grad.push(mark, stack, trip)

    def undo_iteration(self, loop: Node, trip: ir.Value) -> None:
        """Unwind the logs to the start of an iteration."""
        self.undo_to([grad.pop(stack, trip) for stack in self.stacks[loop]])

    def free_marks(self, loop: Node) -> None:
        """The loop is reversed."""
        for stack in self.stacks[loop]:
            grad.free(stack)
