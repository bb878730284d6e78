"""What a program overwrites of ndarrays, and of NumPy's and torch's arrays, as it was before."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from mlirad.ad.recording.target_memory import box_of
from mlirad.lang.arguments.overlaps import same_key
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.boxes import Box, CoveredBoxes, within_shape
from mlirad.runtime.memory.memory import Elements, Index, Kept
from mlirad.runtime.program import Program


class OverwrittenArrays:
    """Elements of arrays from before the first launch, or write from Python, that changes them;
    `restore` puts them back. Gradients and tangents are not kept."""

    def __init__(self, program: Program) -> None:
        self._arena = program.arena()
        self._covered: dict[Hashable, CoveredBoxes] = {}
        self._kept: list[Kept] = []

    def before_launch(self, launch: Launch) -> None:
        """A launch is about to write."""
        for footprint in launch.variant.notes.accesses().written:
            if isinstance(footprint.array, int):
                array, box = launch.array(footprint.array), footprint.box(launch.values)
                if isinstance(array.owner, Ndarray):
                    self.before_box(array.owner, box)
                else:
                    self._keep(same_key(array), array.their_elements(), box)

    def before_write(self, array: Ndarray, index: Index | None) -> None:
        """Python is about to write to an ndarray: to a place, or to everything."""
        self.before_box(array, box_of(array.elements, index))

    def before_box(self, array: Ndarray, box: Box) -> None:
        """A box of an ndarray is about to be written."""
        if not array.is_derivative:
            self._keep(array.address, array.elements, box)

    def _keep(self, key: Hashable, elements: Elements, box: Box) -> None:
        covered = self._covered.setdefault(key, CoveredBoxes())
        known = within_shape(box, elements.shape)
        if elements.nbytes and not covered.holds(known):
            covered.add(known)
            self._kept.append(self._arena.keep(elements, known, "an array"))

    def restore(self) -> None:
        """Make arrays what they were. Some may be views of the same memory: the first copy of an
        element is the one that counts."""
        for kept in reversed(self._kept):
            kept.restore()
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
