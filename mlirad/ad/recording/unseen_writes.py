"""Array arguments that Python may change unseen: what reverses need, and what Python wrote."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.array_table import ArrayTable, TapeArray
from mlirad.ad.recording.mirror import UnseenWrite
from mlirad.ad.recording.versions import Version, Versions
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box
from mlirad.runtime.footprints import Footprint, Footprints
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.values import Values, same_bits


class UnseenWrites:
    """Holds what launches have looked at of such arrays, and compares before the next launch."""

    def __init__(self, table: ArrayTable) -> None:
        self.table = table
        # by kernel, and the footprints that they are of
        self._accesses: dict[Variant, tuple[Footprints, list[tuple[int, Footprint, bool]]]] = {}
        self._called: dict[TapeArray, None] = {}  # by a function that is running
        # that gradients given for functions may read, and a copy
        self._for_gradients: dict[TapeArray, tuple[str, Values]] = {}

    def look(
        self, launch: Launch, arrays: Sequence[TapeArray], versions: Versions
    ) -> tuple[Launch, list[UnseenWrite], list[Version]]:
        """Before a launch: it on the arrays of its reverse, what Python wrote since the last one,
        and what is kept for loops.

        Raises TaichiRuntimeError where Python wrote what an earlier reverse needs, and the tape's
        rules keep nothing.
        """
        if _are_ours(arrays):
            return launch, [], []
        unseen: list[UnseenWrite] = []
        saved: list[Version] = []
        for array in arrays:
            if array.gradient is not None and not array.is_whole and not array.is_ours:
                unseen += self.look_at(array, versions)
        for position, footprint, is_written in self._accesses_of(launch.variant):
            array, buffer = arrays[position], launch.arrays[position]
            if array.mirror is None or buffer.is_mirror:
                continue
            box = footprint.box(launch.values)
            if (
                is_written and buffer.address in versions.needed
            ):  # by a loop, or by a gradient that was given
                elements = buffer.elements()
                saved += versions.before_write(buffer.address, elements, box, footprint.place)
            if array.is_watched or not is_written:
                unseen += self.look_at(array, versions, box)
        of_reverse = [array.of_reverse(buffer) for array, buffer in zip(arrays, launch.arrays)]
        return launch.with_arrays(of_reverse), unseen, saved

    def look_at(
        self, array: TapeArray, versions: Versions, box: Box | None = None
    ) -> list[UnseenWrite]:
        """Return what Python wrote to a box, or all, of an array that is not ours."""
        mirror = array.mirror
        assert mirror is not None
        at = array.full_box if box is None else box
        write = mirror.look(
            at,
            lambda: versions.before_change(
                mirror.copy.address,
                mirror.copy.elements,
                at,
                mirror.differs,
                array.describe(),
                caller(),
            ),
            array.gradient if array.is_whole else None,
        )
        array.is_watched, array.is_whole = True, array.is_whole or box is None
        return [write] if write is not None and write.matters else []

    def look_at_all(self, versions: Versions) -> list[UnseenWrite]:
        """Return what Python wrote to all arrays of which something is held."""
        return [
            entry for array in self._watched_arrays() for entry in self.look_at(array, versions)
        ]

    def take_all(self, versions: Versions) -> list[Version]:
        """Hold all arrays as they are now: what wrote to them has a gradient of its own; what
        earlier reverses need of what was there before."""
        saved: list[Version] = []
        for array in self._watched_arrays():
            mirror = array.mirror
            assert mirror is not None
            key, elements, place = mirror.copy.address, mirror.copy.elements, caller()
            saved += versions.before_change(
                key, elements, array.full_box, mirror.differs, array.describe(), place
            )
            mirror.take(array.full_box)
        return saved

    def take(self, launch: Launch, arrays: Sequence[TapeArray]) -> None:
        """After a launch: hold what it wrote."""
        if _are_ours(arrays):
            return
        for position, footprint, is_written in self._accesses_of(launch.variant):
            if is_written:
                array = arrays[position]
                if array in self._for_gradients:
                    self._for_gradients[array] = (
                        self._for_gradients[array][0],
                        array.program_array().copy(),
                    )
                is_mirror = launch.arrays[position].is_mirror
                if array.mirror is not None and array.is_watched and not is_mirror:
                    array.mirror.take(footprint.box(launch.values))

    def _accesses_of(self, piece: Variant) -> list[tuple[int, Footprint, bool]]:
        """Return the accesses of a kernel to its array arguments, and whether each is a write: by
        its footprints now, which change when a field that it reads gets a gradient."""
        footprints = piece.notes.footprints()
        of_footprints, accesses = self._accesses.get(piece, (None, []))
        if of_footprints is not footprints:
            positions = piece.array_positions
            accesses = [
                (positions[access.array], access, is_written)
                for group, is_written in (
                    (footprints.needed, False),
                    (footprints.active, False),
                    (footprints.written, True),
                )
                for access in group
                if isinstance(access.array, int)
            ]
            self._accesses[piece] = footprints, accesses
        return accesses

    def _watched_arrays(self) -> list[TapeArray]:
        return [array for array in self.table.all() if array.is_watched]

    # Functions with a gradient of their own.

    def seen_by_call(self, launch: Launch) -> None:
        """Note the arrays of a launch inside a function with a gradient of its own."""
        name = launch.kernel.__name__
        theirs = [array for array in launch.arrays if not array.is_ours]
        self._called.update({self.table.know(array, name): None for array in theirs})

    def called_arrays(self) -> list[TapeArray]:
        """The arrays of the function that is running."""
        return list(self._called)

    def hold_gradient_arrays(self, function: str) -> None:
        """A function was called whose gradient, which runs on the program's own arrays, may read
        what there is now."""
        self._for_gradients.update(
            {array: (function, array.program_array().copy()) for array in self._called}
        )
        self._called.clear()

    def check_gradient_arrays(self) -> None:
        """Raise TaichiRuntimeError where Python has changed what a gradient given for a function
        may read."""
        for array, (function, copy) in self._for_gradients.items():
            if not same_bits(array.program_array(), copy):
                raise TaichiRuntimeError(
                    f"{array.describe()}, launched by function '{function}', has since been "
                    "changed in Python: the gradient of that function would read the new "
                    "values; pass a ti.ndarray, or a new array to each call"
                )


def _are_ours(arrays: Sequence[TapeArray]) -> bool:
    """Return whether Python writes to none of some arrays unseen."""
    return not [array for array in arrays if array.mirror is not None]
