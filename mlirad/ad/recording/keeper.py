"""What a tape keeps of what is overwritten: all that reverses read, or, in `ad/budget`, less."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from mlirad.ad.recording.entries import Aside, Entry, Replaced, rows_of
from mlirad.ad.recording.known_arrays import KnownArray, KnownArrays
from mlirad.ad.recording.order import Order
from mlirad.ad.recording.sweep import sweep
from mlirad.ad.recording.versions import Key, Versions, WayBack
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program


class Keeper(ABC):
    """Is told of each thing before it is done, and runs the reverses."""

    repeats_launches: bool  # instead of keeping what they overwrite

    @abstractmethod
    def versions(self) -> Versions:
        """Versions of memory for new entries."""

    @abstractmethod
    def reverse(self, entries: Sequence[Entry]) -> None:
        """Run the reverses of a tape's entries, last first, with memory as each needs it."""

    @abstractmethod
    def explain(self, entries: Sequence[Entry]) -> Explanation:
        """What is kept."""

    @abstractmethod
    def launch(self, launch: Launch, footprints: Footprints | None) -> None:
        """A kernel is launched, whose reverse has footprints, if there is one."""

    @abstractmethod
    def write(self, key: Key, elements: Elements, box: Box) -> None:
        """Python writes to a box."""

    @abstractmethod
    def transfer(self) -> None:
        """Memory is transferred."""

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """An entry of the tape stands for what was done last."""

    @abstractmethod
    def take_back(self) -> None:
        """The entry added last is none."""

    @abstractmethod
    def add_call(
        self,
        entry: Replaced | Aside,
        touched: Sequence[tuple[Key, Elements, Box]],
        arrays: Sequence[KnownArray],
    ) -> None:
        """A call has been made, of a function whose gradient may read what it has touched, on some
        arrays of Python's; or a launch without a reverse."""

    @abstractmethod
    def hold(self, launch: Launch) -> Launch:
        """A launch as it can be done again. Raises TaichiRuntimeError for arrays that Python has
        changed."""

    @abstractmethod
    def take(self, launch: Launch) -> None:
        """A launch is done, and has written to its arrays."""

    @abstractmethod
    def check_arrays(self, who: str) -> None:
        """Raise TaichiRuntimeError for arrays that Python has changed, before a call."""


Keep = Callable[[Program, str, Order, KnownArrays], Keeper]


class KeepAll(Keeper):
    """Copies all that reverses read and something overwrites: entries and their versions say
    all."""

    repeats_launches = False

    def __init__(self, program: Program, rules: str, order: Order, known: KnownArrays) -> None:
        self.program, self.rules, self.order = program, rules, order

    def versions(self) -> Versions:
        """Versions that are copies."""
        return Versions(self.program, self.rules, self.order.beside)

    def reverse(self, entries: Sequence[Entry]) -> None:
        """Run the reverses, with versions given back on the way."""
        way = WayBack((version for entry in entries for version in entry.saved), self.program)
        try:
            sweep(entries, way.give_back)
        finally:
            way.end()

    def explain(self, entries: Sequence[Entry]) -> Explanation:
        """A row for each array."""
        return Explanation(rows_of(entries))

    def launch(self, launch: Launch, footprints: Footprints | None) -> None:
        """Nothing."""

    def write(self, key: Key, elements: Elements, box: Box) -> None:
        """Nothing."""

    def transfer(self) -> None:
        """Nothing."""

    def add(self, entry: Entry) -> None:
        """Nothing."""

    def take_back(self) -> None:
        """Nothing."""

    def add_call(
        self,
        entry: Replaced | Aside,
        touched: Sequence[tuple[Key, Elements, Box]],
        arrays: Sequence[KnownArray],
    ) -> None:
        """Nothing."""

    def hold(self, launch: Launch) -> Launch:
        """The launch itself."""
        return launch

    def take(self, launch: Launch) -> None:
        """Nothing."""

    def check_arrays(self, who: str) -> None:
        """Nothing."""
