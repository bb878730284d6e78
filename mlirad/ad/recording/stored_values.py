"""Values that launches stored in fields and that their reverses may load, as long as nothing else
was written there.

A reverse that loads them is `Derivative.stored`. Nothing is kept for it: where a later launch, or
Python, has written to the elements, the reverse computes the values again.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.entries import Entry, RecordedLaunch
from mlirad.runtime.boxes import Box, hull, meet
from mlirad.runtime.footprints import Footprint


def note_stored(entries: Sequence[Entry]) -> None:
    """Note on the launches of a tape whether fields still hold what they have stored."""
    stored = {
        entry.derivative: entry.derivative.footprints.stored
        for entry in entries
        if isinstance(entry, RecordedLaunch) and entry.derivative.stored is not None
    }
    if not stored:
        return
    symbols = {str(access.array) for accesses in stored.values() for access in accesses}
    later: dict[str, Box] | None = {}  # what is written from here on; None if that is not known
    for entry in reversed(entries):
        if isinstance(entry, RecordedLaunch):
            accesses = stored.get(entry.derivative, ())
            values = entry.launch.values
            entry.holds_stored = later is not None and not _meet_any(accesses, values, later)
        written = entry.written_hulls(symbols)
        if later is None or written is None:
            later = None
        else:
            for symbol, box in written.items():
                later[symbol] = hull([later[symbol], box]) if symbol in later else box


def _meet_any(
    accesses: Sequence[Footprint], values: Sequence[object], boxes: dict[str, Box]
) -> bool:
    return any(
        access.array in boxes and meet(boxes[access.array], access.box(values))
        for access in accesses
    )
