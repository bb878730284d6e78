"""Changes of memory in the part of a program that `insert-size-counts` copies."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from mlirad.dialect.field import is_atomic, is_store, is_write
from mlirad.dialect.grad import RecordOp, UndoOp, is_reversed
from mlirad.ir.graph import Graph, Node
from mlirad.ir.reductions import REDUCE_MARK
from mlirad.ir.structured import is_serial_loop
from mlirad.ir.walk import Array, array_root


class Way(Enum):
    """The way in which the copy deals with memory that sizes depend on, and that the program
    changes; the first that does is taken."""

    READING = auto()  # there is none
    BOUNDED = auto()  # it is not asked: branches are taken, ranges with `break` run to their end
    WRITING = auto()  # it is written as in the program, and given back from a copy
    FIRST = auto()  # likewise, without what is done again: for logs
    UNDOING = auto()  # it is written and undone as in the program


class Changes:
    """The ops that change arrays, and those that note what was there."""

    def __init__(self, graph: Graph, nodes: Iterable[Node]) -> None:
        self._changes: dict[Array, list[Node]] = {}
        self._records: dict[int, list[Node]] = {}
        self._arrays: dict[int, Array] = {}  # by log
        for node in nodes:
            if is_write(node):
                self._changes.setdefault(node.array, []).append(node)
            elif RecordOp.holds(node):
                self._records.setdefault(node.operands[1], []).append(node)
            elif UndoOp.holds(node):
                array = array_root(graph.values[node.operands[2]])
                self._changes.setdefault(array, []).append(node)
                self._arrays[node.operands[0]] = array

    def changes_of(self, array: Array) -> list[Node]:
        """Return what writes to an array, or undoes writes."""
        return self._changes.get(array, [])

    def records(self, log: int) -> list[Node]:
        """Return what notes elements in a log."""
        return self._records.get(log, [])

    def goes_back(self, array: Array) -> bool:
        """Return whether writes to an array are undone."""
        return array in self._arrays.values()

    def noted_in(self, log: int) -> list[Node]:
        """Return what writes to the array of a log, or undoes writes."""
        return self.changes_of(self._arrays[log]) if log in self._arrays else []


def matters_to(change: Node, load: Node) -> bool:
    """Return whether an op that changes memory may run before a load."""
    around = {owner for owner in load.owners if is_serial_loop(owner)}
    return change.order < load.order or any(owner in around for owner in change.owners)


def can_copy(write: Node) -> bool:
    """Return whether a write may be made in a copy: one whose sum is made of all iterations has its
    value behind them alone."""
    return is_store(write) or (is_atomic(write) and REDUCE_MARK not in write.op.attributes)


def shut_by(node: Node, around: set[Node], inside: set[Node]) -> Node | None:
    """The outermost loop or branch around a node that is left out, because it leaves memory as it
    was before what it reverses."""
    return next(
        (
            owner
            for owner in node.owners
            if owner in inside and owner not in around and is_reversed(owner.op)
        ),
        None,
    )
