"""Memory versions of a tape: what launches overwrite that the reverse of earlier launches reads,
and its return.

Before a launch runs, the elements it writes that an earlier reverse needs are copied. In reverse,
after its adjoint, they go back to memory; once the reverse is through, memory gets what it held
before, so that every primal field holds what the forward program left there (docs/gradients.md, 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mlirad.ad.tape.arena import Arena
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments import ArrayBuffer
from mlirad.runtime.footprints import Box, Footprint, Region, hull, meet
from mlirad.runtime.program import Program
from mlirad.runtime.variant import Variant

Key = str | int  # a field's name, or the address of an array argument


class Version:
    """Elements as they were before a launch.

    Where the launch's own reverse wants them (`redone`), they are back before it runs, else behind
    it. What lies beside them, such as their tangents, goes with them.
    """

    __slots__ = ("beside", "copy", "key", "read", "redone", "view", "written")

    def __init__(
        self,
        arena: Arena,
        view: np.ndarray[Any, Any],
        key: Key,
        read: str,
        written: str,
        redone: bool,
        beside: Sequence[np.ndarray[Any, Any]] = (),
    ) -> None:
        self.view, self.key, self.read, self.written = view, key, read, written
        self.redone = redone
        self.copy = arena.copy(view, f"'{key}'" if isinstance(key, str) else "an array argument")
        self.beside = [Version(arena, one, key, read, written, redone) for one in beside]

    @property
    def place(self) -> tuple[Any, ...]:
        """Which elements these are."""
        return self.view.__array_interface__["data"][0], self.view.shape, self.view.strides

    def present(self, arena: Arena) -> Version:
        """The same elements as they are now."""
        return Version(
            arena,
            self.view,
            self.key,
            self.read,
            self.written,
            self.redone,
            [one.view for one in self.beside],
        )

    def give_back(self) -> None:
        """Let memory hold the kept elements."""
        self.view[...] = self.copy
        for one in self.beside:
            one.give_back()

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        memory = self.view.copy()
        self.view[...] = self.copy
        self.copy[...] = memory
        for one in self.beside:
            one.exchange()


class WayBack:
    """Memory on its way back through versions, and at the `end` as it was.

    Of an array of which the same elements are kept again and again, what memory holds is copied
    once; elsewhere versions are exchanged with memory, and need no more of it.
    """

    def __init__(self, versions: Iterable[Version], program: Program) -> None:
        self._arena = Arena(program.capacity)
        self._undo: list[Callable[[], None]] = []
        self._copied: set[tuple[Any, ...]] = set()
        places: dict[Key, dict[tuple[Any, ...], int]] = {}
        total: dict[Key, int] = {}
        for version in versions:
            places.setdefault(version.key, {})[version.place] = version.copy.nbytes
            total[version.key] = total.get(version.key, 0) + version.copy.nbytes
        self._again = {
            key for key, found in places.items() if 2 * sum(found.values()) <= total[key]
        }

    def give_back(self, version: Version) -> None:
        """Let memory hold what a version kept."""
        if version.key not in self._again:
            version.exchange()
            self._undo.append(version.exchange)
            return
        if version.place not in self._copied:
            self._copied.add(version.place)
            self._undo.append(version.present(self._arena).give_back)
        version.give_back()

    def end(self) -> None:
        """Let memory hold what it held at first."""
        for undo in reversed(self._undo):
            undo()


class Versions:
    """What the reverses of the launches so far need, by array and by the place of the read.

    `beside` gives the memory that lies beside an array's and is kept with it.
    """

    def __init__(
        self,
        program: Program,
        rules: str,
        beside: Callable[[Key], Sequence[np.ndarray[Any, Any]]] = lambda key: (),
    ) -> None:
        self.program, self.rules, self.beside = program, rules, beside
        self.needed: dict[Key, dict[str, Region]] = {}
        self.views: dict[Key, np.ndarray[Any, Any]] = {}  # of the arrays that are needed
        self.arrays: dict[
            Key, np.ndarray[Any, Any]
        ] = {}  # array arguments of launches inside a call
        self._arena = Arena(program.capacity)

    def before_launch(
        self, variant: Variant, values: Sequence[Any], buffers: Sequence[ArrayBuffer]
    ) -> list[Version]:
        """Copy what a launch will overwrite of what earlier reverses, or its own, need.

        Raises TaichiRuntimeError instead where the tape's rules refuse that.
        """
        footprints = variant.notes.footprints()
        if not self.needed and not footprints.redone:
            return []
        written: dict[Key, tuple[Footprint, str, np.ndarray[Any, Any], Region]] = {}
        for footprint in footprints.written:
            redone = footprint.array in footprints.redone
            key = self._key(footprint, variant, buffers)
            if not redone and key not in self.needed:
                continue
            box = footprint.box(values)
            reader = footprint.place if redone else self._reader(key, box)
            if reader is not None:
                view = self._view(footprint, variant, buffers)
                written.setdefault(key, (footprint, reader, view, Region()))[3].add(box)
        saved = []
        for key, (footprint, reader, view, region) in written.items():
            redone = footprint.array in footprints.redone
            why = next((v for v in footprints.verdicts if str(key) in v), "") if redone else ""
            self._allow(key, reader, footprint.place, why)
            box = hull(region.boxes)
            saved.append(self._version(view, box, key, reader, footprint.place, redone))
            self._satisfy(key, _without_ends(box, view))
        return saved

    def _version(
        self, view: np.ndarray[Any, Any], box: Box, key: Key, read: str, written: str, redone: bool
    ) -> Version:
        beside = [part(one, box) for one in self.beside(key)]
        return Version(self._arena, part(view, box), key, read, written, redone, beside)

    def _satisfy(self, key: Key, box: Box) -> None:
        """Earlier reverses find in a box what they need again, whatever is written there from now
        on."""
        for region in self.needed.get(key, {}).values():
            region.drop(box)

    def after_launch(
        self, variant: Variant, values: Sequence[Any], buffers: Sequence[ArrayBuffer]
    ) -> None:
        """Note what the reverse of a launch will read."""
        for footprint in variant.notes.footprints().needed:
            key = self._key(footprint, variant, buffers)
            places = self.needed.get(key)
            if places is None:
                places = self.needed[key] = {}
                self.views[key] = self._view(footprint, variant, buffers)
            if footprint.place not in places:
                places[footprint.place] = Region()
            places[footprint.place].add(footprint.box(values))

    def before_write(
        self, key: Key, view: np.ndarray[Any, Any], box: Box, place: str
    ) -> list[Version]:
        """Copy what a write from Python overwrites of what earlier reverses need."""
        reader = self._reader(key, box)
        if reader is None:
            return []
        self._allow(key, reader, place, "")
        self._satisfy(key, _without_ends(box, view))
        return [self._version(view, box, key, reader, place, False)]

    def before_change(
        self,
        key: Key,
        view: np.ndarray[Any, Any],
        box: Box,
        differs: Callable[[Box], bool],
        name: str,
        place: str,
    ) -> list[Version]:
        """Copy what earlier reverses need of an array where it `differs` in a box from what it is
        about to become."""
        regions = {
            read: region
            for read, region in self.needed.get(key, {}).items()
            if any(meet(one, box) and differs(one) for one in region.boxes)
        }
        if not regions:
            return []
        read = next(iter(regions))
        self._allow(
            key,
            read,
            place,
            f"{name}, read at {read} and needed by the gradient, was changed in Python before the "
            f'launch at {place}; rules="save" would keep it',
        )
        needed = hull([one for region in regions.values() for one in region.boxes])
        self._satisfy(key, _without_ends(needed, view))
        return [self._version(view, needed, key, read, f"Python before {place}", False)]

    def before_call(self, place: str) -> list[Version]:
        """Copy all that earlier reverses need, before a call that may write anything."""
        self.arrays = {}
        return [
            self._version(
                self.views[key],
                hull([box for region in regions.values() for box in region.boxes]),
                key,
                next(iter(regions)),
                place,
                False,
            )
            for key, regions in self.needed.items()
        ]

    def note_buffers(self, buffers: Sequence[ArrayBuffer]) -> None:
        """Note the array arguments of a launch inside a call."""
        self.arrays.update({buffer.address: buffer.array() for buffer in buffers})

    def after_call(self, kept: Sequence[Version], place: str, is_needed: bool) -> list[Version]:
        """What a call changed of the copies; its own gradient, where it has one, may read all that
        there is now."""
        changed = [version for version in kept if version.copy.tobytes() != version.view.tobytes()]
        for version in changed:
            self._allow(version.key, version.read, place, "")
        if (
            is_needed and self.rules != "refuse"
        ):  # what it reads is not known, so every later write would be refused
            found: dict[Key, np.ndarray[Any, Any]] = {
                name: memory.view for name, memory in self.program.primals().items()
            }
            found.update(self.arrays)
            for key, view in found.items():
                self.need(key, view, place)
        return changed

    def need(self, key: Key, view: np.ndarray[Any, Any], place: str) -> None:
        """Note that a reverse will read all of an array."""
        self.views[key] = view
        rank = len(self.program.fields[key].layout.shape) if isinstance(key, str) else view.ndim
        self.needed.setdefault(key, {}).setdefault(place, Region()).add(((None, None),) * rank)

    def _reader(self, key: Key, box: Box) -> str | None:
        """The place of a read that an earlier reverse does again in a box, or None."""
        return next(
            (place for place, region in self.needed.get(key, {}).items() if region.meets(box)), None
        )

    def _allow(self, key: Key, read: str, written: str, why: str) -> None:
        if self.rules == "refuse":
            name = f"'{key}'" if isinstance(key, str) else "an array argument"
            raise TaichiRuntimeError(
                why
                or f"{name}, read at {read} and needed by the gradient, is overwritten at "
                f'{written}; rules="save" would keep it'
            )

    def _key(self, footprint: Footprint, variant: Variant, buffers: Sequence[ArrayBuffer]) -> Key:
        if isinstance(footprint.array, str):
            return footprint.array
        return buffer_of(footprint.array, variant, buffers).address

    def _view(
        self, footprint: Footprint, variant: Variant, buffers: Sequence[ArrayBuffer]
    ) -> np.ndarray[Any, Any]:
        if isinstance(footprint.array, str):
            return self.program.fields[footprint.array].view
        return buffer_of(footprint.array, variant, buffers).array()


def buffer_of(number: int, variant: Variant, buffers: Sequence[ArrayBuffer]) -> ArrayBuffer:
    """The array argument with a number among all arguments of a kernel."""
    return buffers[variant.array_positions[number]]


def _without_ends(box: Box, view: np.ndarray[Any, Any]) -> Box:
    """A box with the bounds left open that are those of the array; of a field in nested blocks all
    is kept."""
    if len(box) != view.ndim:
        return ((None, None),) * len(box)
    return tuple(
        (
            None if low is None or low <= 0 else low,
            None if high is None or high >= extent - 1 else high,
        )
        for (low, high), extent in zip(box, view.shape)
    )


def part(view: np.ndarray[Any, Any], box: Box) -> np.ndarray[Any, Any]:
    """The elements of a box; of a field in nested blocks, all."""
    if len(box) != view.ndim or not box:
        return view
    slices = tuple(
        slice(max(low or 0, 0), None if high is None else max(high + 1, 0)) for low, high in box
    )
    return view[slices]
