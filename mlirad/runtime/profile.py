"""Times of launches, if a program requests them, and of compiling."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import perf_counter
from typing import Any

import msgspec

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.executor.executor import Code, LaunchTimer, LoopTime, PassedArray

_KEPT = 100_000  # launches that can be told one by one


class Launches(msgspec.Struct):
    """The number of launches of a kernel, and their milliseconds."""

    name: str
    counter: int = 0
    total: float = 0.0
    min: float = 0.0
    max: float = 0.0
    bytes: float = 0.0  # that were touched at least, where that is known of each

    @property
    def rate(self) -> float:
        """Bytes of a second."""
        return 1000 * self.bytes / self.total if self.total else 0.0

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

    def note(
        self, name: str, milliseconds: float, loops: Iterable[LoopTime] = (), touched: float = 0.0
    ) -> None:
        """Count a launch, its loops, and bytes that it touched."""
        with self._lock:
            _count(self.kernels, name, milliseconds, touched)
            self.last.append((name, milliseconds))
            for loop, spent in loops:
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


def _count(
    table: dict[str, Launches], name: str, milliseconds: float, touched: float = 0.0
) -> None:
    launches = table.get(name)
    if launches is None:
        launches = table[name] = Launches(name, min=milliseconds)
    launches.counter += 1
    launches.total += milliseconds
    launches.bytes += touched
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
        timer: LaunchTimer | None = None,
        touched: Callable[[Sequence[Any]], float] = lambda values: 0.0,
    ) -> None:
        self.messages = code.messages
        self._code, self._name, self._profile, self._wait = code, name, profile, wait
        self._times, self._timer, self._touched = times, timer, touched

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        if self._timer is not None:
            with self._timer.turn:
                return self._launch_timed(self._timer, values, arrays)
        begun = perf_counter()
        results = self._code.launch(values, arrays)
        self._wait()
        loops = () if self._times is None else self._times.take()
        self._profile.note(self._name, 1000 * (perf_counter() - begun), loops)
        return results

    def _launch_timed(
        self, timer: LaunchTimer, values: Sequence[Any], arrays: Sequence[PassedArray]
    ) -> tuple[Any, ...]:
        begun = perf_counter()
        timer.begin()
        try:
            results = self._code.launch(values, arrays)
        finally:
            spent = timer.end(self._code.loop_names())
        milliseconds, loops = spent or (1000 * (perf_counter() - begun), ())
        self._profile.note(self._name, milliseconds, loops, self._touched(values))
        return results

    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        return self._code.ran_last_with(values, arrays)


class Compiling(msgspec.Struct):
    """Seconds that this process has spent on making code, by kernel and derivative."""

    seconds: dict[str, float] = msgspec.field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        """Count one."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


COMPILING = Compiling()
