"""Memory versions of a tape: what launches overwrite that the reverse of earlier launches reads,
and its return.

Before a launch runs, the elements it writes that an earlier reverse needs are copied. In reverse,
after its adjoint, they go back to memory; once the reverse is through, memory gets what it held
before, so that every primal field holds what the forward program left there (docs/gradients.md, 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b

import msgspec

from mlirad.ad.recording.known_states import Key, Overwritten, Position
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.kernels.launch import Launch
from mlirad.runtime.boxes import Box, Region, hull, meet
from mlirad.runtime.footprints import Footprint, Footprints
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Arena, Elements, Kept
from mlirad.runtime.program import Program


class Version(msgspec.Struct, frozen=True):
    """Elements as they were before a launch.

    Where the launch's own reverse wants them (`redone`), they are back before it runs, else behind
    it. What lies beside them, such as their tangents, goes with them.
    """

    copy: Kept
    overwritten: Overwritten
    beside: Sequence[Kept] = ()

    @property
    def key(self) -> Key:
        """Return the array."""
        return self.overwritten.key

    @property
    def redone(self) -> bool:
        """Return whether the launch's own reverse wants them."""
        return self.overwritten.redone

    def present(self, arena: Arena) -> Version:
        """Return a version of the elements as they are now."""
        name = _name(self.key)
        beside = tuple([copy.present(arena, name) for copy in self.beside])
        copy = self.copy.present(arena, name)
        return Version(copy, self.overwritten, beside)

    def give_back(self) -> None:
        """Let memory hold the kept elements."""
        self.copy.restore()
        for copy in self.beside:
            copy.restore()

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        self.copy.exchange()
        for copy in self.beside:
            copy.exchange()


class Versions:
    """The memory that reverses of the launches so far need, by array and by the place of the read.

    `beside` gives the memory that lies beside an array's and is kept with it.
    """

    def __init__(
        self,
        program: Program,
        rules: str,
        beside: Callable[[Key], Sequence[Elements]] = lambda key: (),
    ) -> None:
        self.program, self.rules, self.beside = program, rules, beside
        # launches that are known, in order, of which its state knows and the tables below do not
        self.later: list[tuple[Launch, Footprints]] = []
        self.needed: dict[Key, dict[str, Region]] = {}
        # what functions with a gradient of their own left, which their calls may overwrite
        self.left: dict[Key, dict[str, Region]] = {}
        # changes with what is needed
        self.position = Position(program, partial(_digest, self.needed, self.left))
        # of arrays that are needed: as long as they are kept, their addresses mean these
        self.elements: dict[Key, Elements] = {}
        # of kernels whose launches need what they needed before, all of which is noted
        self._noted: dict[Variant, Footprints] = {}

    @cached_property
    def _arena(self) -> Arena:
        return self.program.arena()

    def forget_known(self) -> None:
        """Be among other states, after derivatives changed."""
        if self.later:
            self.catch_up()
        self.position.enter()

    def catch_up(self) -> None:
        """Note what known launches need and overwrite."""
        position, self.position = self.position, Position(self.program, bytes)
        later, self.later = self.later, []
        position.state.states.repeated += len(later)
        for launch, footprints in later:
            self.find_overwritten(launch, footprints)
            self.after_launch(launch, footprints)
        self.position = position

    def before_launch(self, launch: Launch, footprints: Footprints) -> list[Version]:
        """Copy what a launch with footprints will overwrite of what earlier reverses, or its own,
        need.

        Raises TaichiRuntimeError instead where the tape's rules refuse that.
        """
        overwritten = self.find_overwritten(launch, footprints)
        return [version for box, elements in overwritten for version in self.keep(box, elements)]

    def find_overwritten(
        self, launch: Launch, footprints: Footprints
    ) -> list[tuple[Overwritten, Elements]]:
        """Return what a launch will overwrite, which then counts as kept."""
        if not (footprints.redone or self.needed or self.left):
            return []
        if not footprints.redone and not self._may_be_needed(footprints, launch):
            return []
        written: dict[Key, tuple[Footprint, str, Elements, Region]] = {}
        for footprint in footprints.written:
            redone = footprint.array in footprints.redone
            key = self.key_of(footprint, launch)
            if not redone and key not in self.needed and key not in self.left:
                continue
            box = footprint.box(launch.values)
            reader = _own_reader(footprints, footprint) if redone else self._reader(key, box)
            if reader is not None:
                elements = self.elements_of(footprint, launch)
                written.setdefault(key, (footprint, reader, elements, Region()))[3].add(box)
        overwritten = []
        for key, (footprint, reader, elements, region) in written.items():
            redone = footprint.array in footprints.redone
            why = footprints.redone.get(key, "") if isinstance(key, str) else ""
            self._allow(key, reader, footprint.place, why)
            box = _without_ends(hull(region.boxes), elements)
            overwritten.append((Overwritten(key, box, reader, footprint.place, redone), elements))
            self._satisfy(key, box)
        if overwritten:
            self.position.leave()
        return overwritten

    def _may_be_needed(self, footprints: Footprints, launch: Launch) -> bool:
        """Return whether a launch may write to arrays that earlier reverses need."""
        if launch.arrays:
            return True
        written = footprints.written_arrays
        if not self.needed.keys().isdisjoint(written):
            return True
        return bool(self.left) and not self.left.keys().isdisjoint(written)

    def keep(self, overwritten: Overwritten, elements: Elements) -> list[Version]:
        """Copy elements that are about to be overwritten."""
        key, name = overwritten.key, _name(overwritten.key)
        box = self.program.executor.memory.box_to_keep(elements, overwritten.box)
        beside = tuple([self._arena.keep(other, box, name) for other in self.beside(key)])
        return [Version(self._arena.keep(elements, box, name), overwritten, beside)]

    def _satisfy(self, key: Key, box: Box) -> None:
        """Earlier reverses find in a box what they need again, whatever is written there from now
        on."""
        self._noted.clear()
        for regions in (self.needed.get(key, {}), self.left.get(key, {})):
            for region in regions.values():
                region.drop(box)

    def after_launch(self, launch: Launch, footprints: Footprints) -> None:
        """Note what the reverse of a launch with footprints will read."""
        if self._noted.get(launch.variant) is footprints:
            return
        if footprints.needs_the_same:
            self._noted[launch.variant] = footprints
        accesses = [
            (footprint, self.key_of(footprint, launch), footprint.box(launch.values))
            for footprint in footprints.needed
        ]
        self.position.follow((launch.variant, tuple([(key, box) for _, key, box in accesses])))
        for footprint, key, box in accesses:
            places = self.needed.get(key)
            if places is None:
                places = self.needed[key] = {}
                if launch.arrays:
                    self.elements[key] = self.elements_of(footprint, launch)
            region = places.get(footprint.place)
            if region is None:
                places[footprint.place] = Region([box])
            else:
                region.add(box)
        if self.position.is_apart:
            self.position.settle()

    def change_nothing(self, launch: Launch, footprints: Footprints) -> bool:
        """Return whether all launches like this one, the last, need and save nothing more."""
        is_noted = self._noted.get(launch.variant) is footprints
        return is_noted and not footprints.redone and not self._may_be_needed(footprints, launch)

    def before_write(
        self, key: Key, elements: Elements, box: Box, place: str, *, by_call: bool = False
    ) -> list[Version]:
        """Copy what a write from Python, or by the call of a function with a gradient of its own,
        overwrites of what earlier reverses need."""
        reader = self._reader(key, box, by_call=by_call)
        if reader is None:
            return []
        self._allow(key, reader, place, "")
        self._satisfy(key, _without_ends(box, elements))
        self.position.settle()
        return self.keep(Overwritten(key, box, reader, place, False), elements)

    def before_change(
        self,
        key: Key,
        elements: Elements,
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
            if any(meet(needed_box, box) and differs(needed_box) for needed_box in region.boxes)
        }
        if not regions:
            return []
        read = next(iter(regions))
        self._allow(
            key,
            read,
            place,
            f"{name}, read at {read} and needed by the gradient, was changed in Python before the "
            f"launch at {place}",
        )
        needed = hull([needed_box for region in regions.values() for needed_box in region.boxes])
        self._satisfy(key, _without_ends(needed, elements))
        self.position.settle()
        return self.keep(Overwritten(key, needed, read, f"Python before {place}", False), elements)

    def need(self, key: Key, elements: Elements, place: str) -> None:
        """Note that a reverse will read all of an array."""
        layout = self.program.fields[key].layout if isinstance(key, str) else elements
        self.expect(key, elements, ((None, None),) * len(layout.shape), place, True)

    def expect(self, key: Key, elements: Elements, box: Box, place: str, is_kept: bool) -> None:
        """Note that what was done at a place may have a reverse that reads a box of an array;
        `is_kept` from calls of functions with a gradient of their own too."""
        self.elements[key] = elements
        self.position.follow(("read", key, box, place, is_kept))
        regions = self.needed if is_kept else self.left
        regions.setdefault(key, {}).setdefault(place, Region()).add(box)

    def _reader(self, key: Key, box: Box, *, by_call: bool = False) -> str | None:
        """The place of a read that an earlier reverse does again in a box, or None."""
        tables = (self.needed,) if by_call else (self.needed, self.left)
        for table in tables:
            for place, region in table.get(key, {}).items():
                if region.meets(box):
                    return place
        return None

    def _allow(self, key: Key, read: str, written: str, why: str) -> None:
        if self.rules == "refuse":
            reason = why or (
                f"{_name(key)}, read at {read} and needed by the gradient, is overwritten at "
                f"{written}"
            )
            raise TaichiRuntimeError(f'{reason}; use rules="save" to keep it')

    def key_of(self, footprint: Footprint, launch: Launch) -> Key:
        """Return what stands for the array of an access."""
        if isinstance(footprint.array, str):
            return footprint.array
        return launch.array(footprint.array).address

    def elements_of(self, footprint: Footprint, launch: Launch) -> Elements:
        """Return the elements of the array of an access."""
        if isinstance(footprint.array, str):
            return self.program.fields[footprint.array].elements
        return launch.array(footprint.array).elements()


def _digest(*tables: Mapping[Key, Mapping[str, Region]]) -> bytes:
    """Return what stands for all that tables say."""
    rows = [
        [
            (key, [(place, region.boxes) for place, region in places.items()])
            for key, places in table.items()
        ]
        for table in tables
    ]
    return blake2b(msgspec.msgpack.encode(rows), digest_size=16).digest()


def _without_ends(box: Box, elements: Elements) -> Box:
    """A box with the bounds left open that are those of the array; of a field in nested blocks all
    is kept."""
    if len(box) != len(elements.shape):
        return ((None, None),) * len(box)
    return tuple(
        (
            None if low is None or low <= 0 else low,
            None if high is None or high >= extent - 1 else high,
        )
        for (low, high), extent in zip(box, elements.shape)
    )


def _name(key: Key) -> str:
    return f"'{key}'" if isinstance(key, str) else "an array argument"


def _own_reader(footprints: Footprints, written: Footprint) -> str:
    """Return where a launch reads what its own reverse needs of an array that it overwrites."""
    places = [access.place for access in footprints.needed if access.array == written.array]
    return places[0] if places else written.place
