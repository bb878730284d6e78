"""State of a program for each thread: the recorder of its launches, the time of its last change of
memory."""

from __future__ import annotations

from threading import Thread, current_thread, local
from typing import Any
from weakref import WeakKeyDictionary

from mlirad.runtime.memory.memory import Allocation


class ThreadState:
    """The state of one thread."""

    def __init__(self) -> None:
        self.thread: Thread = current_thread()
        self.recorder: Any = None  # a tape, a forward mode, or what records the steps of a loop
        self.keeper: Any = None  # what is told of arrays before they are written to
        self.changed = (
            0  # the program's count of changes at this thread's last one, while anything watches
        )
        self.changes = 0  # by this thread, while anything watches
        # which elements were read, by the name of the field
        self.checks: dict[str, Allocation] = {}
        # of the last launches, by variant
        self.seeds: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    @property
    def is_alive(self) -> bool:
        """Return whether the thread may still use what is its own."""
        return self.thread.is_alive()


class OfThread(local):
    """`state` is the calling thread's."""

    def __init__(self) -> None:
        self.state = ThreadState()
