"""Tables of what gradients keep, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from mlirad.runtime.footprints import Footprints
from mlirad.runtime.html import code_block, table

_HEAD = ("array", "read at", "overwritten at", "verdict", "bytes")


class Row(msgspec.Struct, frozen=True):
    """An array that is read and overwritten: where, the verdict, and the bytes kept for it."""

    array: str
    read: str
    written: str
    # "safe", "kept" (copied by the tape) or "redone" (its writes are done again and undone)
    verdict: str
    bytes: int


class Explanation:
    """Rows, the sum of their bytes, what the compiler says of its choices, and a table for
    reading."""

    def __init__(
        self, rows: Sequence[Row], remarks: Sequence[str] = (), peak_bytes: int | None = None
    ) -> None:
        self.rows, self.remarks = list(rows), list(remarks)
        self._peak_bytes = peak_bytes

    @property
    def bytes(self) -> int:
        """Return the bytes that are kept now."""
        return sum(row.bytes for row in self.rows)

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes that a tape with a memory limit has held at once, in the forward
        run and in the reverse, which drops copies. Otherwise it is the same as `bytes`."""
        return self.bytes if self._peak_bytes is None else self._peak_bytes

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            tuple([str(getattr(row, name)) for name in row.__struct_fields__]) for row in self.rows
        ]

    def _repr_html_(self) -> str:
        """Return the HTML of a notebook."""
        return table(_HEAD, self._cells()) + code_block("\n".join(self.remarks))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [_HEAD, *self._cells()]
        widths = [max(len(line[k]) for line in lines) for k in range(len(_HEAD))]
        rows = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in lines
        ]
        return "\n".join([*rows, *self.remarks])


def explain_footprints(pieces: Iterable[Footprints], remarks: Sequence[str]) -> Explanation:
    """The reads that reverses do again, with what becomes of them; remarks of passes."""
    rows = []
    for footprints in pieces:
        for need in footprints.needed:
            writes = [
                written.place for written in footprints.written if written.array == need.array
            ]
            is_redone = need.array in footprints.redone
            place = writes[0] if is_redone and writes else ""
            verdict = "redone" if is_redone else "safe"
            rows.append(Row(str(need.array), need.place, place, verdict, 0))
    return Explanation(rows, remarks)
