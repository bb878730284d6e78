"""Keepers of what is overwritten: all that reverses read, or, in `ad/budget`, less."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from mlirad.ad.recording.array_table import ArrayTable, TapeArray
from mlirad.ad.recording.entries import ConstantLaunch, Entry, RecordedCall, rows_of
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.order import Order
from mlirad.ad.recording.stored_values import note_stored
from mlirad.ad.recording.versions import Version, Versions
from mlirad.ad.recording.way_back import WayBack
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program


class Keeper(ABC):
    """A keeper follows each thing before it is done, and runs the reverses. What is not overridden
    has nothing to do."""

    repeats_launches: bool  # instead of keeping what they overwrite
    follows_launches = True  # with `launch` and `add`

    @abstractmethod
    def versions(self) -> Versions:
        """Return versions of memory for new entries."""

    @abstractmethod
    def reverse(self, entries: Sequence[Entry]) -> None:
        """Run the reverses of a tape's entries, last first, with memory as each needs it."""

    @abstractmethod
    def explain(self, entries: Sequence[Entry]) -> Explanation:
        """Say what is kept."""

    def launch(self, launch: Launch, footprints: Footprints | None) -> None:
        """Follow a launch of a kernel, whose reverse has footprints, if there is one."""

    def write(self, key: Key, elements: Elements, box: Box) -> None:
        """Follow a write from Python to a box."""

    def transfer(self) -> None:
        """Follow a transfer of memory."""

    def add(self, entry: Entry) -> None:
        """Note an entry of the tape, which stands for what was done last."""

    def take_back(self) -> None:
        """Forget the entry added last."""

    def add_call(
        self,
        entry: RecordedCall | ConstantLaunch,
        touched: Sequence[tuple[Key, Elements, Box]],
        arrays: Sequence[TapeArray],
    ) -> None:
        """Note a call of a function, whose gradient may read what it has touched, on some arrays of
        Python's; or a launch without a reverse."""

    def hold(self, launch: Launch) -> Launch:
        """Return a launch as it can be done again. Raises TaichiRuntimeError for arrays that Python
        has changed."""
        return launch

    def take(self, launch: Launch) -> None:
        """Follow a launch that is done, and has written to its arrays."""

    def check_arrays(self, who: str) -> None:
        """Raise TaichiRuntimeError for arrays that Python has changed, before a call."""


Keep = Callable[[Program, str, Order, ArrayTable], Keeper]


class KeepAll(Keeper):
    """Copies all that reverses read and something overwrites: entries and their versions say
    all."""

    repeats_launches = follows_launches = False

    def __init__(self, program: Program, rules: str, order: Order, arrays: ArrayTable) -> None:
        self.program, self.rules, self.order = program, rules, order

    def versions(self) -> Versions:
        return Versions(self.program, self.rules, self.order.beside)

    def reverse(self, entries: Sequence[Entry]) -> None:
        note_stored(entries)
        versions = [version for entry in entries for version in entry.saved]
        if not versions:
            for entry in reversed(entries):
                entry.reverse()
            return
        may_write = any(entry.calls_gradient() for entry in entries)
        way = WayBack(versions, self.program, may_write=may_write)
        try:
            sweep(entries, way.give_back)
        finally:
            way.end()

    def explain(self, entries: Sequence[Entry]) -> Explanation:
        return Explanation(rows_of(entries))


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
