"""How long launches took, where a program asks for it, and how long compiling took."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from time import perf_counter
from typing import Any

import msgspec

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.executor.executor import Code, PassedArray

_KEPT = 100_000  # launches that can be told one by one


class Launches(msgspec.Struct):
    """How often a kernel was launched, and for how many milliseconds."""

    name: str
    counter: int = 0
    total: float = 0.0
    min: float = 0.0
    max: float = 0.0

    @property
    def avg(self) -> float:
        """The mean of a launch."""
        return self.total / self.counter if self.counter else 0.0


class LoopTimes(msgspec.Struct):
    """The loops with names of a kernel, and the nanoseconds that its launches spent in each: words
    that code adds to."""

    names: Sequence[str]
    words: ctypes.Array[ctypes.c_int64]

    def take(self) -> list[tuple[str, float]]:
        """Return the milliseconds of each loop since the last time."""
        milliseconds = [(name, word / 1e6) for name, word in zip(self.names, self.words)]
        ctypes.memset(self.words, 0, ctypes.sizeof(self.words))
        return milliseconds


class Profile(msgspec.Struct):
    """The times of a program's launches, by kernel and derivative, and of their loops with names,
    by `KERNEL: NAME`."""

    kernels: dict[str, Launches] = msgspec.field(default_factory=dict)
    loops: dict[str, Launches] = msgspec.field(default_factory=dict)
    last: deque[tuple[str, float]] = msgspec.field(default_factory=lambda: deque(maxlen=_KEPT))
    _lock: Any = msgspec.field(default_factory=lambda: free_in_forks(Lock()))

    def note(self, name: str, milliseconds: float, times: LoopTimes | None = None) -> None:
        """Count a launch, and its loops."""
        with self._lock:
            _count(self.kernels, name, milliseconds)
            self.last.append((name, milliseconds))
            for loop, spent in () if times is None else times.take():
                _count(self.loops, f"{name}: {loop}", spent)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self.kernels.clear()
            self.loops.clear()
            self.last.clear()

    @property
    def total(self) -> float:
        """Milliseconds of all launches."""
        return sum(launches.total for launches in self.kernels.values())


def _count(table: dict[str, Launches], name: str, milliseconds: float) -> None:
    launches = table.get(name)
    if launches is None:
        launches = table[name] = Launches(name, min=milliseconds)
    launches.counter += 1
    launches.total += milliseconds
    launches.min = min(launches.min, milliseconds)
    launches.max = max(launches.max, milliseconds)


class ProfiledCode(Code):
    """Code whose launches are timed, until the machine has done them."""

    def __init__(
        self,
        code: Code,
        name: str,
        profile: Profile,
        wait: Callable[[], None],
        times: LoopTimes | None = None,
    ) -> None:
        self.messages = code.messages
        self._code, self._name, self._profile, self._wait = code, name, profile, wait
        self._times = times

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        begun = perf_counter()
        results = self._code.launch(values, arrays)
        self._wait()
        self._profile.note(self._name, 1000 * (perf_counter() - begun), self._times)
        return results

    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        return self._code.ran_last_with(values, arrays)

    def relocate(self) -> None:
        """See `Code.relocate`."""
        self._code.relocate()


class Compiling(msgspec.Struct):
    """Seconds that this process has spent on making code, by kernel and derivative."""

    seconds: dict[str, float] = msgspec.field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        """Count one."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


COMPILING = Compiling()
