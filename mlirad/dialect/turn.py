"""Whose turn it is to touch MLIR: one thread's at a time, for there is one context and it is not
made for several. A forked process finds this lock, and all other locks, free."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from time import monotonic
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L")

_PATIENCE = 0.1  # seconds that a fork waits for the locks that are held for a moment

# held while layouts are made, kernels compiled, a program started or ended; not by launches
compiling = RLock()


def in_turn(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function wait until no other thread compiles, and others wait until it is done."""

    @wraps(function)
    def waits(*args: P.args, **keywords: P.kwargs) -> R:
        with compiling:
            return function(*args, **keywords)

    return waits


class _Fork:
    """Holds all locks while the process forks, so that no other thread is in the middle of what
    they guard: a forked process has only the thread that forked."""

    def __init__(self) -> None:
        self.locks = WeakSet[Any]()
        self._held: list[list[Any]] = []  # a signal may come, whose handler forks
        os.register_at_fork(
            before=self._hold, after_in_parent=self._release, after_in_child=self._begin_anew
        )

    def _hold(self) -> None:
        locks: list[Any] = []
        self._held.append(locks)
        compiling.acquire()  # however long it takes: MLIR cannot be left in between
        locks.append(compiling)
        deadline = monotonic() + _PATIENCE
        for lock in list(self.locks):
            if lock.acquire(timeout=max(0.0, deadline - monotonic())):
                locks.append(lock)

    def _release(self) -> None:
        for lock in reversed(self._held.pop()):
            lock.release()

    def _begin_anew(self) -> None:
        locks = self._held[-1]
        for lock in (compiling, *self.locks):
            if lock not in locks:
                lock._at_fork_reinit()
        self._release()


_fork = _Fork()


def free_in_forks(lock: L) -> L:
    """Have forked processes find a lock free, even if another thread holds it for long."""
    _fork.locks.add(lock)
    return lock
