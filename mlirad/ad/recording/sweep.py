"""The reverses of entries, last first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.ad.recording.entries import Entry
from mlirad.ad.recording.versions import Version


def sweep(
    entries: Sequence[Entry], give_back: Callable[[Version], None] = Version.give_back
) -> None:
    """Run reverses, last first, with memory as each needs it: as versions of it are given
    back."""
    for entry in reversed(entries):
        for version in entry.saved:
            if version.redone:
                give_back(version)
        entry.reverse()
        for version in entry.saved:
            if not version.redone:
                give_back(version)
