"""State that the threads of a program change, and its recorders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary, ref

from mlirad.dialect.turn import free_in_forks
from mlirad.errors import TaichiRuntimeError
from mlirad.runtime.thread_state import OfThread, ThreadState


class Views:
    """Views of fields and ndarrays that were handed to Python, as long as they exist: what is read
    through them, nobody sees."""

    def __init__(self) -> None:
        # each with the line that it was handed to, by field or address; some may be gone
        self.handed: dict[str | int, list[tuple[ref[Any], str]]] = {}
        self.writable: dict[str | int, list[tuple[ref[Any], str]]] = {}

    def add(self, key: str | int, view: Any, place: str) -> None:
        """A view is handed to a line of the program."""
        self.handed[key] = [*self._existing(key), (ref(view), place)]

    def add_writable(self, key: str | int, view: Any, place: str) -> None:
        """A view that can be written to is handed to a line of the program."""
        self.writable[key] = [
            entry for entry in self.writable.get(key, ()) if entry[0]() is not None
        ] + [(ref(view), place)]

    def lent_writable(self, keys: Iterable[str | int]) -> tuple[str | int, str] | None:
        """The first of some fields or arrays that has a view that can be written to, and the line
        that it was handed to; None if none has."""
        for key in keys:
            for view, place in self.writable.get(key, ()):
                if view() is not None:
                    return key, place
        return None

    def take(self, key: str | int) -> list[str]:
        """The lines that existing views of a field or ndarray were handed to; these are looked at
        no more."""
        views = self._existing(key)
        self.handed.pop(key, None)
        return [place for _, place in views]

    def __contains__(self, key: object) -> bool:
        return key in self.handed

    def __iter__(self) -> Iterator[str | int]:
        return iter(list(self.handed))

    def _existing(self, key: str | int) -> list[tuple[ref[Any], str]]:
        return [view for view in self.handed.get(key, ()) if view[0]() is not None]


class Threads:
    """Changes are launches of kernels, and writes from Python."""

    def __init__(self) -> None:
        self.changes = 0
        # `changes` at the last write from Python, by field or address
        self.written: dict[str | int, int] = {}
        self.views = Views()
        self.of_thread = OfThread()
        self.alone = free_in_forks(RLock())  # held by what puts all fields back
        self.watchers: set[ref[Any]] = set()  # while there are any, threads note their changes
        # what tapes know of launches from earlier ones of the thread
        self.known_states = WeakKeyDictionary[ThreadState, Any]()

    @property
    def state(self) -> ThreadState:
        """Return the state of the calling thread."""
        return self.of_thread.state

    @property
    def recorder(self) -> Any:
        """Return the recorder of the launches of the calling thread, or None."""
        return self.of_thread.state.recorder if self.watchers else None

    def record_by(self, recorder: Any) -> None:
        """Have a recorder, or None, record what the calling thread launches from now on."""
        if recorder is not None:
            self.watch(recorder)
        self.of_thread.state.recorder = recorder

    @property
    def keeper(self) -> Any:
        """Return the keeper of the arrays that the calling thread is about to write to, or None."""
        return self.of_thread.state.keeper if self.watchers else None

    @keeper.setter
    def keeper(self, keeper: Any) -> None:
        if keeper is not None:
            self.watch(keeper)
        self.of_thread.state.keeper = keeper

    def watch(self, watcher: Any) -> None:
        """Have threads note their changes, and look for their recorders, as long as an object
        lives."""
        self.watchers.add(ref(watcher, self.watchers.discard))

    def count_change(self) -> int:
        """Count a launch or a write from Python by the calling thread; the number of changes so
        far."""
        self.changes = count = self.changes + 1
        if self.watchers:
            state = self.of_thread.state
            state.changed, state.changes = count, state.changes + 1
        return count

    def others_changes(self) -> int:
        """A number that grows with every change by another thread than the calling one, while
        anything watches."""
        return self.changes - self.state.changes

    def check_alone_since(self, others_changes: int) -> None:
        """Raise TaichiRuntimeError if another thread has changed memory since there were so
        many."""
        if self.others_changes() != others_changes:
            raise TaichiRuntimeError(
                "another thread launched a kernel or wrote to a field while this one "
                "differentiated a whole program, which restores all fields: let the other "
                "thread wait, or use ti.ad.Tape"
            )
