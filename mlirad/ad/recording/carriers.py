"""Arrays that hold values which carry a derivative while a tape records, and which of these no
launch has read since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mlirad.ad.recording.array_table import FlowArray, TapeArray
from mlirad.ad.recording.entries import Entry, RecordedCall, RecordedLaunch
from mlirad.runtime.boxes import Box, Region
from mlirad.runtime.footprints import Flow
from mlirad.runtime.program import Program

_EVERYWHERE: Box = ()


class Carriers:
    """The arrays that launches have left, looked at only when Python reads or writes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.carrying: set[FlowArray] = set()
        self.unread: dict[FlowArray, Region] = {}
        self._followed = 0

    def follow(self, entries: Sequence[Entry]) -> None:
        """Take note of what was recorded since the last time; steps of checkpointed loops come by
        `launched`."""
        for entry in entries[self._followed :]:
            if isinstance(entry, RecordedLaunch):
                self.note_launch(entry.flows(), entry.written_boxes)
            elif entry.is_copy:
                self.note_launch(entry.flows(), lambda array: [_EVERYWHERE])
            elif isinstance(entry, RecordedCall):  # which may have read anything
                self.unread.clear()
        self._followed = len(entries)

    def note_launch(
        self, flows: Iterable[Flow], boxes: Callable[[FlowArray], Iterable[Box]]
    ) -> None:
        """Take note of a launch; `boxes` gives those that it writes of an array."""
        flows = list(flows)
        for flow in flows:
            for source in flow.sources:
                self.unread.pop(source, None)
        for flow in flows:
            if any(self.has_gradient(source) for source in flow.sources):
                self.carrying.add(flow.target)
                region = self.unread.setdefault(flow.target, Region())
                for box in boxes(flow.target):
                    region.add(box)

    def has_gradient(self, array: FlowArray) -> bool:
        """Return whether an array, as flows name it, may pass a derivative on."""
        return (
            array.gradient is not None
            if isinstance(array, TapeArray)
            else array in self.program.derivatives.adjoints
        )

    def overwritten(self, array: FlowArray, box: Box) -> bool:
        """Python writes to a box: whether something there carries a derivative that no launch has
        read."""
        region = self.unread.get(array)
        if region is None:
            return False
        met = region.meets(box)
        region.drop(box)
        return met
