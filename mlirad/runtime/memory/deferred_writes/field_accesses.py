"""Accesses of a kernel's launches to fields that may have deferred writes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mlirad.runtime.memory.deferred_writes.later_writes import Backlog, LaterWrites
from mlirad.runtime.memory.deferred_writes.pending import NOTHING, Pending, Write
from mlirad.runtime.memory.deferred_writes.row_notes import RowNotes

Word = ctypes.Array[ctypes.c_int64]
Begun = tuple[str, Word]  # a field, and whether its sums begin at 0
LIMIT = 1 << 13  # steps of a kernel that are remembered


class Step(NamedTuple):
    """The deferred writes of arrays that a launch does, and what is left of them; and the fields
    whose sums begin at 0."""

    changes: Sequence[tuple[LaterWrites, Sequence[Write], Pending]]
    begins: Sequence[str]


class FieldAccesses:
    """The large fields of a kernel, and what its launches do to them. `begun` are those whose sums
    a launch may begin at 0, and whether only those of a row: it takes a word for each that says
    whether it does.

    A launch finds the same writes whenever a program runs again, and then does the same to them.
    """

    def __init__(
        self, fields: Mapping[str, LaterWrites], notes: RowNotes, begun: Mapping[str, bool]
    ) -> None:
        self._fields, self._notes, self._begun = fields, notes, begun
        self._arrays = frozenset(fields.values())
        self._in_order = tuple(fields.values())
        self._numbers = notes.numbers
        self._steps: dict[tuple[object, ...], Step] = {}

    def prepare(
        self, backlog: Backlog, values: Sequence[Any], begun: Sequence[Begun]
    ) -> Sequence[Begun]:
        """Do the deferred writes to what a launch touches, but for those to what it sets; the words
        that are set, for this launch alone."""
        if self._arrays.isdisjoint(backlog.arrays):
            return ()
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
        return begun

    def _find_step(self, values: Sequence[Any]) -> Step:
        changes, begins = [], list[str]()
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
        return Step(tuple(changes), tuple(begins))

    def _begin_sums(
        self, name: str, pending: Pending, values: Sequence[Any]
    ) -> tuple[Pending, bool]:
        """Return what is left where a launch begins sums at 0, of all elements or of a row: zeros
        were to be written there; and whether it does."""
        rows = self._notes.begins.get(name, ()) if self._begun[name] else None
        if pending is NOTHING or (rows is not None and not rows):
            return pending, False
        left = self._fields[name].without_zeros(pending, rows[0](values)[0] if rows else None)
        return (pending, False) if left is None else (left, True)
