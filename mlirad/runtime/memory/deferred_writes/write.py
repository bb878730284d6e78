"""One deferred write."""

from __future__ import annotations

from typing import NamedTuple

from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.values import Values


class Write(NamedTuple):
    """A write to a box: of a copy, or of zeros (None), which are of whole rows."""

    box: KnownBox
    copy: Values | None

    @property
    def first(self) -> int:
        """The first row; a row is all elements with one first index."""
        return self.box[0][0]

    @property
    def last(self) -> int:
        """The last row."""
        return self.box[0][1]

    def outside(self, first: int, last: int) -> list[Write]:
        """Return the parts of zeros that are outside of some rows."""
        ends = ((self.first, min(self.last, first - 1)), (max(self.first, last + 1), self.last))
        return [Write((rows, *self.box[1:]), None) for rows in ends if rows[0] <= rows[1]]
