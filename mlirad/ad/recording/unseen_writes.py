"""Array arguments that Python may change unseen: what reverses need, and what Python wrote."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.known_arrays import KnownArray, KnownArrays
from mlirad.ad.recording.mirror import UnseenWrite
from mlirad.ad.recording.versions import Version, Versions
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box
from mlirad.runtime.footprints import Footprint
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.values import Values, same_bits


class UnseenWrites:
    """Holds what launches have looked at of such arrays, and compares before the next launch."""

    def __init__(self, known: KnownArrays) -> None:
        self.known = known
        self._accesses: dict[Variant, list[tuple[int, Footprint, bool]]] = {}
        self._called: dict[KnownArray, None] = {}  # by a function that is running
        # that gradients given for functions may read, and a copy
        self._given: dict[KnownArray, tuple[str, Values]] = {}

    def look(
        self, launch: Launch, known: Sequence[KnownArray], versions: Versions
    ) -> tuple[Launch, list[UnseenWrite], list[Version]]:
        """Before a launch: it on the arrays of its reverse, what Python wrote since the last one,
        and what is kept for loops.

        Raises TaichiRuntimeError where Python wrote what an earlier reverse needs, and the tape's
        rules keep nothing.
        """
        unseen: list[UnseenWrite] = []
        saved: list[Version] = []
        for one in known:
            if one.gradient is not None and not one.is_whole and not one.is_ours:
                unseen += self.look_at(one, versions)
        for position, footprint, is_written in self._of(launch.variant):
            one, buffer = known[position], launch.arrays[position]
            if one.mirror is None or buffer.is_mirror:
                continue
            box = footprint.box(launch.values)
            if (
                is_written and buffer.address in versions.needed
            ):  # by a loop, or by a gradient that was given
                elements = buffer.elements()
                saved += versions.before_write(buffer.address, elements, box, footprint.place)
            if one.is_watched or not is_written:
                unseen += self.look_at(one, versions, box)
        of_reverse = [one.of_reverse(array) for one, array in zip(known, launch.arrays)]
        return launch.with_arrays(of_reverse), unseen, saved

    def look_at(
        self, one: KnownArray, versions: Versions, box: Box | None = None
    ) -> list[UnseenWrite]:
        """What Python wrote to a box, or all, of an array that is not ours."""
        mirror = one.mirror
        assert mirror is not None
        at = one.whole if box is None else box
        found = mirror.look(
            at,
            lambda: versions.before_change(
                mirror.own.address,
                mirror.own.elements,
                at,
                mirror.differs,
                one.describe(),
                caller(),
            ),
            one.gradient if one.is_whole else None,
        )
        one.is_watched, one.is_whole = True, one.is_whole or box is None
        return [found] if found is not None and found.matters else []

    def look_at_all(self, versions: Versions) -> list[UnseenWrite]:
        """What Python wrote to all arrays of which something is held."""
        return [entry for one in self._watched() for entry in self.look_at(one, versions)]

    def take_all(self, versions: Versions) -> list[Version]:
        """Hold all arrays as they are now: what wrote to them has a gradient of its own; what
        earlier reverses need of what was there before."""
        saved: list[Version] = []
        for one in self._watched():
            mirror = one.mirror
            assert mirror is not None
            key, elements, place = mirror.own.address, mirror.own.elements, caller()
            saved += versions.before_change(
                key, elements, one.whole, mirror.differs, one.describe(), place
            )
            mirror.take(one.whole)
        return saved

    def take(self, launch: Launch, known: Sequence[KnownArray]) -> None:
        """After a launch: hold what it wrote."""
        for position, footprint, is_written in self._of(launch.variant):
            if is_written:
                one = known[position]
                if one in self._given:
                    self._given[one] = self._given[one][0], one.theirs().copy()
                is_mirror = launch.arrays[position].is_mirror
                if one.mirror is not None and one.is_watched and not is_mirror:
                    one.mirror.take(footprint.box(launch.values))

    def _of(self, piece: Variant) -> list[tuple[int, Footprint, bool]]:
        """The accesses of a kernel to its array arguments, and whether each is a write."""
        found = self._accesses.get(piece)
        if found is None:
            footprints, positions = piece.notes.footprints(), piece.array_positions
            found = self._accesses[piece] = [
                (positions[access.array], access, is_written)
                for accesses, is_written in (
                    (footprints.needed, False),
                    (footprints.active, False),
                    (footprints.written, True),
                )
                for access in accesses
                if isinstance(access.array, int)
            ]
        return found

    def _watched(self) -> list[KnownArray]:
        return [one for one in self.known.all() if one.is_watched]

    # Functions with a gradient of their own.

    def seen_by_call(self, launch: Launch) -> None:
        """Note the arrays of a launch inside a function with a gradient of its own."""
        name = launch.kernel.__name__
        theirs = [array for array in launch.arrays if not array.is_ours]
        self._called.update({self.known.know(array, name): None for array in theirs})

    def called(self) -> list[KnownArray]:
        """The arrays of the function that is running."""
        return list(self._called)

    def hold_given(self, function: str) -> None:
        """A function was called whose gradient, which runs on the program's own arrays, may read
        what there is now."""
        self._given.update({one: (function, one.theirs().copy()) for one in self._called})
        self._called.clear()

    def check_given(self) -> None:
        """Raise TaichiRuntimeError where Python has changed what a gradient given for a function
        may read."""
        for one, (function, copy) in self._given.items():
            if not same_bits(one.theirs(), copy):
                raise TaichiRuntimeError(
                    f"{one.describe()}, launched by function '{function}', was changed in Python "
                    "since: the gradient given for that function would read what is there now; "
                    "pass a ti.ndarray, or a new array to each call"
                )
