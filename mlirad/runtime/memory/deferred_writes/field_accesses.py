"""Accesses of a kernel's launches to fields that may have deferred writes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.deferred_writes.later_writes import Backlog, LaterWrites
from mlirad.runtime.memory.deferred_writes.pending import NOTHING, Pending, Write
from mlirad.runtime.memory.deferred_writes.row_notes import RowNotes

Word = ctypes.Array[ctypes.c_int64]
Words = Sequence[tuple[str, Word]]  # of fields: what a launch is told of each
LIMIT = 1 << 13  # steps of a kernel that are remembered


class Zeros(NamedTuple):
    """Zeros for a box of an array that a launch leaves to be written: what is deferred before they
    are, and with them, if they can be."""

    array: LaterWrites
    box: KnownBox
    before: Pending
    after: Pending | None


class Step(NamedTuple):
    """The deferred writes of arrays that a launch does, and what is left of them; the fields whose
    sums begin at 0; and the zeros that are to be written behind it."""

    changes: Sequence[tuple[LaterWrites, Sequence[Write], Pending]]
    begins: Sequence[str]
    later: Sequence[Zeros]


NO_STEP = Step((), (), ())


class FieldAccesses:
    """The large fields of a kernel, and what its launches do to them. `begun` are those whose sums
    a launch may begin at 0, and whether only those of a box: it takes a word for each that
    says whether it does.

    A launch finds the same writes whenever a program runs again, and then does the same to them.
    """

    def __init__(
        self, fields: Mapping[str, LaterWrites], notes: RowNotes, begun: Mapping[str, bool]
    ) -> None:
        self._fields, self._notes, self._begun = fields, notes, begun
        self._arrays = frozenset(fields.values())
        self._in_order = tuple(fields.values())
        self._numbers = notes.numbers
        self.leaves_zeros = bool(notes.later)
        self._steps: dict[tuple[object, ...], Step] = {}

    def prepare(self, backlog: Backlog, values: Sequence[Any], begun: Words) -> Step:
        """Do the deferred writes to what a launch touches, but for those to what it sets. Words are
        set until the launch has ended (`end`)."""
        if not self.leaves_zeros and self._arrays.isdisjoint(backlog.arrays):
            return NO_STEP
        with backlog.lock:
            key = (
                *[array.pending for array in self._in_order],
                *[values[number] for number in self._numbers],
            )
            step = self._steps.get(key)
            if step is None:
                step = self._find_step(values)
                if len(self._steps) < LIMIT:
                    self._steps[key] = step
            for array, due, left in step.changes:
                array.do(due, left)
        for name, word in begun:
            word[0] = name in step.begins
        return step

    def end(self, backlog: Backlog, step: Step, begun: Words) -> None:
        """Defer the zeros that a launch has left, or write them."""
        for _, word in begun:
            word[0] = 0
        for array, box, expected, with_zeros in step.later:
            array.defer_zeros(backlog, box, expected, with_zeros)

    def _find_step(self, values: Sequence[Any]) -> Step:
        changes, begins, later = [], list[str](), list[Zeros]()
        for name, array in self._fields.items():
            pending, begins_at_0 = array.pending, False
            for box in self._notes.sets.get(name, ()):
                pending = array.without_box(pending, box(values))
            if name in self._begun:
                pending, begins_at_0 = self._begin_sums(name, pending, values)
                begins += [name] * begins_at_0
            boxes = self._notes.rows.get(name)
            rows = None if boxes is None else [box(values)[0] for box in boxes]
            if self._begun.get(name) is False:  # sums of all elements
                rows = [] if begins_at_0 else None
            due, pending = array.due(pending, rows)
            if pending is not array.pending:
                changes.append((array, due, pending))
            for box in self._notes.later.get(name, ()):
                zeros = box(values)
                later.append(Zeros(array, zeros, pending, array.with_zeros(pending, zeros)))
        return Step(tuple(changes), tuple(begins), tuple(later))

    def _begin_sums(
        self, name: str, pending: Pending, values: Sequence[Any]
    ) -> tuple[Pending, bool]:
        """Return what is left where a launch begins sums at 0, of all elements or of a box: zeros
        were to be written there; and whether it does."""
        boxes = self._notes.begins.get(name, ()) if self._begun[name] else None
        if pending is NOTHING or (boxes is not None and not boxes):
            return pending, False
        left = self._fields[name].without_zeros(pending, boxes[0](values) if boxes else None)
        return (pending, False) if left is None else (left, True)
