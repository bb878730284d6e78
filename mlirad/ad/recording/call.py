"""A call of a function with a gradient of its own: what it overwrites of what reverses read, and
what it touches."""

from __future__ import annotations

from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.versions import Version, Versions
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box, CoveredBoxes, Region
from mlirad.runtime.memory.memory import Elements


class Call:
    """Follows launches, and what Python reads and writes, while such a function runs.

    The elements that it overwrites and earlier reverses read become `saved`, the last first.
    """

    def __init__(self, versions: Versions, place: str, saved: list[Version]) -> None:
        self._versions, self._place, self.saved = versions, place, saved
        self._elements: dict[Key, Elements] = {}
        self._read: dict[Key, Region] = {}  # before the call wrote there
        self._written: dict[Key, Region] = {}
        self._kept: dict[Key, CoveredBoxes] = {}  # what was looked at before the first write there

    def launch(self, launch: Launch) -> None:
        """Follow a launch."""
        versions, accesses = self._versions, launch.variant.notes.accesses()
        for footprint in accesses.read:
            key = versions.key_of(footprint, launch)
            elements = versions.elements_of(footprint, launch)
            self.read(key, elements, footprint.box(launch.values))
        for footprint in accesses.written:
            key = versions.key_of(footprint, launch)
            elements = versions.elements_of(footprint, launch)
            self.write(key, elements, footprint.box(launch.values), footprint.place)

    def read(self, key: Key, elements: Elements, box: Box) -> None:
        """Note that a box of an array is about to be read."""
        if not self._is_kept(key, box):
            self._note(self._read, key, elements, box)

    def write(self, key: Key, elements: Elements, box: Box, place: str) -> None:
        """Keep a box of an array that is about to be written at a place of the program."""
        if not self._is_kept(key, box):
            self.saved[:0] = self._versions.before_write(key, elements, box, place, by_call=True)
            self._note(self._written, key, elements, box)
            self._kept.setdefault(key, CoveredBoxes()).add(box)

    def touched_boxes(self) -> list[tuple[Key, Elements, Box]]:
        """Return what has been read and written."""
        return [
            (key, self._elements[key], box)
            for regions in (self._read, self._written)
            for key, region in regions.items()
            for box in region.boxes
        ]

    def _is_kept(self, key: Key, box: Box) -> bool:
        return key in self._kept and self._kept[key].holds(box)

    def _note(self, regions: dict[Key, Region], key: Key, elements: Elements, box: Box) -> None:
        self._elements[key] = elements
        regions.setdefault(key, Region()).add(box)

    def expect_gradient(self) -> None:
        """Note what the gradient that was given for the function will read: what the call has
        touched, as it was, if the call itself left it alone."""
        for key, region in self._read.items():
            written = self._written.get(key)
            for box in region.boxes:
                is_kept = written is None or not written.meets(box)
                self._versions.expect(key, self._elements[key], box, self._place, is_kept)
        for key, region in self._written.items():
            for box in region.boxes:
                self._versions.expect(key, self._elements[key], box, self._place, False)
