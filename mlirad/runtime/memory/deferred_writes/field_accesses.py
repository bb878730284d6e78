"""Accesses of a kernel's launches to fields that may have deferred writes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.runtime.memory.deferred_writes.later_writes import Backlog, LaterWrites
from mlirad.runtime.memory.deferred_writes.row_notes import RowNotes

Word = ctypes.Array[ctypes.c_int64]
Begun = tuple[str, Word]  # a field, and whether its sums begin at 0


class FieldAccesses:
    """The large fields of a kernel, and what its launches do to them. `begun` are those whose sums
    a launch may begin at 0, and whether only those of a row: it takes a word for each that says
    whether it does."""

    def __init__(
        self, fields: Mapping[str, LaterWrites], notes: RowNotes, begun: Mapping[str, bool]
    ) -> None:
        self._fields = frozenset(fields.values())
        self._begun = {name: fields[name] for name in begun if name in fields}
        self._begun_rows = {
            name: notes.begins.get(name, ()) for name, is_row in begun.items() if is_row
        }
        self._sets = [(fields[name], notes.sets[name]) for name in fields if name in notes.sets]
        self._rows = [
            (writes, notes.rows.get(name))
            for name, writes in fields.items()
            if name not in begun or name in self._begun_rows
        ]

    def prepare(
        self, backlog: Backlog, values: Sequence[Any], begun: Sequence[Begun]
    ) -> Sequence[Begun]:
        """Do the deferred writes to what a launch touches, but for those to what it sets; the words
        that are set, for this launch alone."""
        waiting = backlog.arrays
        if self._fields.isdisjoint(waiting):
            return ()
        for writes, boxes in self._sets:
            if writes in waiting:
                for box in boxes:
                    writes.drop_box(box(values))
        for name, word in begun:
            word[0] = name in self._begun and self._begins(name, values)
        for writes, ranges in self._rows:
            if writes in waiting:
                writes.finish(None if ranges is None else [box(values)[0] for box in ranges])
        return begun

    def _begins(self, name: str, values: Sequence[Any]) -> bool:
        """Return whether a launch begins sums at 0, of all elements or of a row: zeros were to be
        written there."""
        writes, rows = self._begun[name], self._begun_rows.get(name)
        if rows is None:
            return writes.drop_zeros()
        return bool(writes and rows) and writes.drop_zeros(rows[0](values)[0])
