"""Copies of the arrays of Python's that a tape within a budget is given: launches run again on
these, and so do reverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.ad.recording.array_table import ArrayTable, TapeArray
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box
from mlirad.runtime.footprints import Footprint
from mlirad.runtime.kernels.variant import Variant


class HeldArrays:
    """Copies of arrays, each made when the array is first an argument; from then on kernels alone
    may write to it."""

    def __init__(self, table: ArrayTable) -> None:
        self.table = table
        self._written: set[TapeArray] = set()

    def hold(self, launch: Launch) -> Launch:
        """Before a launch: it on its arrays, where they are not ours on the copies.

        Raises TaichiRuntimeError where Python has changed an array since it was first an argument,
        and where arrays that kernels write to share memory.
        """
        name, accesses = launch.variant.kernel.name, launch.variant.notes.accesses()
        arrays = [self.table.know(buffer, name) for buffer in launch.arrays]
        for array in arrays:
            if array.mirror is not None and not array.is_whole:
                array.mirror.take(array.full_box)
                array.is_watched = array.is_whole = True
        for is_written, footprints in ((False, accesses.read), (True, accesses.written)):
            for access in footprints:
                position = _position(launch.variant, access)
                if position < 0 or arrays[position].mirror is None:
                    continue
                array = arrays[position]
                if is_written:
                    self._written.add(array)
                if not is_written or access.part != "whole":
                    self._check(array, access.box(launch.values), f"kernel '{name}'")
        for array in arrays:
            self._check_apart(array)
        return launch.with_arrays(
            [array.of_reverse(buffer) for array, buffer in zip(arrays, launch.arrays)]
        )

    def take(self, launch: Launch) -> None:
        """After a launch: copy what it wrote."""
        variant = launch.variant
        for access in variant.notes.accesses().written:
            position = _position(variant, access)
            if position >= 0:
                array = self.table.know(launch.arrays[position], variant.kernel.name)
                if array.mirror is not None:
                    array.mirror.take(access.box(launch.values))

    def check_all(self, who: str) -> None:
        """Raise TaichiRuntimeError where Python has changed an array."""
        for array in self.table.all():
            if array.mirror is not None and array.is_whole:
                self._check(array, array.full_box, who)

    @staticmethod
    def lending(arrays: Sequence[TapeArray], run: Callable[[], None]) -> None:
        """Run something with arrays of Python's as the copies are; they are put back."""
        before = [array.program_array().copy() for array in arrays]
        try:
            for array in arrays:
                assert array.mirror is not None
                array.buffer.original_elements().take(array.mirror.copy.elements, array.full_box)
            run()
        finally:
            for array, values in zip(arrays, before):
                array.buffer.original_elements().write(values, array.full_box)

    @staticmethod
    def _check(array: TapeArray, box: Box, who: str) -> None:
        if array.mirror is not None and array.mirror.differs(box):
            raise TaichiRuntimeError(
                f"ti.ad.Tape(memory=...): Python has changed {array.describe()} before {who}, "
                "but launches that read it may have to run again: pass a ti.ndarray, or a new "
                "array to each launch"
            )

    def _check_apart(self, array: TapeArray) -> None:
        for other in array.overlaps:
            if array in self._written or other in self._written:
                raise TaichiRuntimeError(
                    f"ti.ad.Tape(memory=...): {array.describe()} and {other.describe()} share "
                    "memory but are not the same array, and a kernel writes to it: pass one "
                    "array and an index, or a ti.ndarray"
                )


def _position(variant: Variant, access: Footprint) -> int:
    """Return the position of the array of an access among array arguments; -1 for a field."""
    array = access.array
    return variant.array_positions[array] if isinstance(array, int) else -1
