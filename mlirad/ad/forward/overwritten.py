"""Copies of what a program overwrites: of fields, ndarrays, and NumPy's and torch's arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlirad.ad.recording.target_memory import box_of
from mlirad.lang.arguments.overlaps import same_key
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.boxes import WHOLE, Box, CoveredBoxes, within_shape
from mlirad.runtime.footprints import Footprint
from mlirad.runtime.memory.deferred_writes import Copies, LaterWrites
from mlirad.runtime.memory.memory import Elements, Index, Kept
from mlirad.runtime.program import Program

SMALL = 1 << 16  # bytes


def _is_small(elements: Elements) -> bool:
    """Return whether elements are put back at once, and faster all together than in boxes."""
    later = elements.deferred
    return elements.nbytes <= SMALL and (later is None or not later.are_possible)


class OverwrittenFields:
    """Elements of fields from before the first launch, or write from Python, that changes them,
    and which random numbers came next; `restore` puts them back.

    Putting them back raises TaichiRuntimeError where another thread changed memory meanwhile.
    """

    def __init__(self, program: Program) -> None:
        self._program, self._draws = program, program.random.launches
        program.threads.watch(self)
        self._others_changes = program.threads.others_changes()
        self._arena = program.arena()
        self._covered: dict[str, CoveredBoxes] = {}
        self._complete: set[str] = set()  # fields of which nothing is left to be kept
        self._kept: dict[Elements, list[tuple[Box, Kept]]] = {}
        # those that an earlier program kept, and that were not put back since
        self._copies: dict[Elements, tuple[LaterWrites, Copies]] = {}

    def before_launch(self, written: Sequence[Footprint], values: Sequence[Any]) -> None:
        """Keep what a launch is about to overwrite."""
        for footprint in written:
            if isinstance(footprint.array, str) and footprint.array not in self._complete:
                elements = self._program.fields[footprint.array].elements
                self.before_write(footprint.array, elements, footprint.box(values))

    def has_all(self, written: Sequence[Footprint]) -> bool:
        """Return whether a launch, one of which was followed, leaves nothing to be kept of fields:
        whatever its arguments are."""
        return all(footprint.is_fixed or footprint.array in self._complete for footprint in written)

    def before_write(self, symbol: str, elements: Elements, box: Box) -> None:
        """Keep a box of a field that is about to be written; of a small one, all elements."""
        covered = self._covered.get(symbol)
        if covered is None:
            covered = self._covered[symbol] = self._begin(symbol, elements)
        bounded = within_shape(box, elements.shape)  # boxes of known ends that line up are one
        if not covered.holds(bounded):
            copied = within_shape(WHOLE, elements.shape) if _is_small(elements) else bounded
            covered.add(copied)
            copy = self._arena.keep(elements, copied, f"'{symbol}'")
            self._kept.setdefault(elements, []).append((copied, copy))
            self._note_complete(symbol, elements, covered)

    def _begin(self, symbol: str, elements: Elements) -> CoveredBoxes:
        """Return the boxes of a field that are kept before the first write to it: those that are
        still to be put back, which nothing has changed since; of a derivative, all."""
        covered = CoveredBoxes()
        if self._program.derivatives.are_derivatives(symbol):
            covered.add(WHOLE)
        elif (later := elements.deferred) is not None and (copies := later.copies()) is not None:
            self._copies[elements] = later, copies
            covered = copies.covered.copy()
        self._note_complete(symbol, elements, covered)
        return covered

    def _note_complete(self, symbol: str, elements: Elements, covered: CoveredBoxes) -> None:
        if covered.holds(within_shape(WHOLE, elements.shape)):
            self._complete.add(symbol)

    def restore(self) -> None:
        """Make memory what it was; the next launches draw the same random numbers."""
        self._program.threads.check_alone_since(self._others_changes)
        self._program.random.rewind(self._draws)
        backlog = self._program.backlog
        for elements in dict.fromkeys([*self._copies, *self._kept]):
            earlier, added = self._copies.get(elements), self._kept.get(elements, [])
            if earlier is None:
                elements.put_back(added, backlog)
                continue
            later, copies = earlier
            if added or not later.put_back_again(copies, backlog):
                elements.put_back([*elements.kept_copies(copies), *added], backlog)


class OverwrittenArrays:
    """Elements of arrays from before the first launch, or write from Python, that changes them;
    `restore` puts them back. Gradients and tangents are not kept."""

    def __init__(self, program: Program) -> None:
        self._arena = program.arena()
        self._covered: dict[Hashable, CoveredBoxes] = {}
        self._kept: list[Kept] = []

    def before_launch(self, launch: Launch) -> None:
        """Keep what a launch is about to overwrite."""
        for footprint in launch.variant.notes.accesses().written:
            if isinstance(footprint.array, int):
                array, box = launch.array(footprint.array), footprint.box(launch.values)
                if isinstance(array.owner, Ndarray):
                    self.before_box(array.owner, box)
                else:
                    self._keep(same_key(array), array.original_elements(), box)

    def before_write(self, array: Ndarray, index: Index | None) -> None:
        """Keep what Python is about to overwrite of an ndarray: a place, or everything."""
        self.before_box(array, box_of(array.elements, index))

    def before_box(self, array: Ndarray, box: Box) -> None:
        """Keep a box of an ndarray that is about to be written."""
        if not array.is_derivative:
            self._keep(array.address, array.elements, box)

    def _keep(self, key: Hashable, elements: Elements, box: Box) -> None:
        covered = self._covered.setdefault(key, CoveredBoxes())
        bounded = within_shape(box, elements.shape)
        if elements.nbytes and not covered.holds(bounded):
            covered.add(bounded)
            self._kept.append(self._arena.keep(elements, bounded, "an array"))

    def restore(self) -> None:
        """Make arrays what they were. Some may be views of the same memory: the first copy of an
        element is the one that counts."""
        for copy in reversed(self._kept):
            copy.restore()
        self._kept.clear()
        self._covered.clear()


@contextmanager
def arrays_put_back(program: Program) -> Iterator[None]:
    """Let arrays be afterwards what they were before, whatever this thread launches and writes."""
    threads = program.threads
    outer, threads.keeper = threads.keeper, (keeper := OverwrittenArrays(program))
    try:
        yield
    finally:
        threads.keeper = outer
        keeper.restore()
