"""The return of memory to what earlier launches left, while reverses run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property

from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.versions import Version
from mlirad.runtime.memory.memory import Arena, Elements, Kept
from mlirad.runtime.program import Program


class WayBack:
    """Memory on its way back through versions, and at the `end` as it was.

    A large field of which all elements are kept moves from one version to the next. Of another
    array of which the same elements are kept again and again, what memory holds is copied once;
    elsewhere versions are exchanged with memory, and need no more of it.

    If reverses `may_write` to memory, nothing moves: versions would change.
    """

    def __init__(self, versions: Sequence[Version], program: Program, *, may_write: bool) -> None:
        self._program = program
        self._undo: list[Callable[[], None]] = []
        self._copied: set[Hashable] = set()
        self._moved: dict[Elements, Kept] = {}  # arrays, and a copy of each
        places: dict[Key, dict[Hashable, int]] = {}
        total: dict[Key, int] = {}
        for version in versions:
            places.setdefault(version.key, {})[version.copy.place] = version.copy.nbytes
            total[version.key] = total.get(version.key, 0) + version.copy.nbytes
        self._again = {
            key for key, sizes in places.items() if 2 * sum(sizes.values()) <= total[key]
        }
        self._movable = set[Key]() if may_write else self._movable_keys(versions)

    def _movable_keys(self, versions: Sequence[Version]) -> set[Key]:
        """Return the fields that can lie in each of their versions, which no reverse writes to."""
        are_moved = self._program.executor.memory.are_moved
        movable: set[Key] = {version.key for version in versions if isinstance(version.key, str)}
        for version in versions:
            copies = (version.copy, *version.beside)
            if version.redone or not all(
                are_moved(copy.nbytes) and copy.complete_array is not None for copy in copies
            ):
                movable.discard(version.key)
        return movable

    @cached_property
    def _arena(self) -> Arena:
        return self._program.arena()

    def give_back(self, version: Version) -> None:
        """Let memory hold what a version kept."""
        if version.key in self._movable and self._move(version):
            return
        if version.key not in self._again:
            version.exchange()
            self._undo.append(version.exchange)
            return
        if version.copy.place not in self._copied:
            self._copied.add(version.copy.place)
            self._undo.append(version.present(self._arena).give_back)
        version.give_back()

    def _move(self, version: Version) -> bool:
        """Let a field, and what lies beside it, lie where a version keeps it; whether all do."""
        copies = (version.copy, *version.beside)
        if all(map(self._move_to, copies)):
            return True
        self._movable.discard(version.key)  # somebody looks at it, or moved it
        for copy in copies:
            if copy.complete_array is not None:
                self._return(copy.complete_array)
        return False

    def _move_to(self, copy: Kept) -> bool:
        array = copy.complete_array
        if array is None or not copy.move_array(self._program.backlog, again=array in self._moved):
            return False
        self._moved[array] = copy
        return True

    def _return(self, array: Elements) -> None:
        """Let an array lie where it lay at first, where it holds what it held then."""
        if self._moved.pop(array, None) is not None:
            array.move(None, self._program.backlog)

    def end(self) -> None:
        """Let memory hold what it held at first."""
        for array in list(self._moved):
            self._return(array)
        for undo in reversed(self._undo):
            undo()
