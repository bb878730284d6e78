"""Copies of the arrays of Python's that a tape within a budget is given: launches run again on
these, and so do reverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.ad.recording.known_arrays import KnownArray, KnownArrays
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box
from mlirad.runtime.footprints import Footprint
from mlirad.runtime.kernels.variant import Variant


class HeldArrays:
    """Each array is copied whole when it is first an argument; from then on kernels alone may
    write to it."""

    def __init__(self, known: KnownArrays) -> None:
        self.known = known
        self._written: set[KnownArray] = set()

    def hold(self, launch: Launch) -> Launch:
        """Before a launch: it on its arrays, where they are not ours on the copies.

        Raises TaichiRuntimeError where Python has changed an array since it was first an argument,
        and where arrays that kernels write to share memory.
        """
        name, accesses = launch.variant.kernel.name, launch.variant.notes.accesses()
        known = [self.known.know(array, name) for array in launch.arrays]
        for one in known:
            if one.mirror is not None and not one.is_whole:
                one.mirror.take(one.whole)
                one.is_watched = one.is_whole = True
        for is_written, some in ((False, accesses.read), (True, accesses.written)):
            for access in some:
                position = _position(launch.variant, access)
                if position < 0 or known[position].mirror is None:
                    continue
                one = known[position]
                if is_written:
                    self._written.add(one)
                if not is_written or access.part != "whole":
                    self._check(one, access.box(launch.values), f"kernel '{name}'")
        for one in known:
            self._check_apart(one)
        return launch.with_arrays(
            [one.of_reverse(array) for one, array in zip(known, launch.arrays)]
        )

    def take(self, launch: Launch) -> None:
        """After a launch: copy what it wrote."""
        variant = launch.variant
        for access in variant.notes.accesses().written:
            position = _position(variant, access)
            if position >= 0:
                one = self.known.know(launch.arrays[position], variant.kernel.name)
                if one.mirror is not None:
                    one.mirror.take(access.box(launch.values))

    def check_all(self, who: str) -> None:
        """Raise TaichiRuntimeError where Python has changed an array."""
        for one in self.known.all():
            if one.mirror is not None and one.is_whole:
                self._check(one, one.whole, who)

    @staticmethod
    def lending(known: Sequence[KnownArray], run: Callable[[], None]) -> None:
        """Run something with arrays of Python's as the copies are; they are put back."""
        before = [one.theirs().copy() for one in known]
        try:
            for one in known:
                assert one.mirror is not None
                one.buffer.their_elements().take(one.mirror.own.elements, one.whole)
            run()
        finally:
            for one, values in zip(known, before):
                one.buffer.their_elements().write(values, one.whole)

    @staticmethod
    def _check(one: KnownArray, box: Box, who: str) -> None:
        if one.mirror is not None and one.mirror.differs(box):
            raise TaichiRuntimeError(
                f"ti.ad.Tape(memory=...): Python has changed {one.describe()} before {who}, and "
                "launches that read it may have to be done again: pass a ti.ndarray, or a new "
                "array to each launch"
            )

    def _check_apart(self, one: KnownArray) -> None:
        for other in one.overlaps:
            if one in self._written or other in self._written:
                raise TaichiRuntimeError(
                    f"ti.ad.Tape(memory=...): {one.describe()} and {other.describe()} share memory "
                    "and are not the same array, and a kernel writes to it: pass one array and an "
                    "index, or a ti.ndarray"
                )


def _position(variant: Variant, access: Footprint) -> int:
    """Of the array of an access among array arguments; -1 for a field."""
    array = access.array
    return variant.array_positions[array] if isinstance(array, int) else -1
