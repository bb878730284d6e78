"""How long launches took, where a program asks for it, and how long compiling took."""

from __future__ import annotations

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


class Profile(msgspec.Struct):
    """What a program's launches took, by kernel and derivative."""

    kernels: dict[str, Launches] = msgspec.field(default_factory=dict)
    last: deque[tuple[str, float]] = msgspec.field(default_factory=lambda: deque(maxlen=_KEPT))
    _lock: Any = msgspec.field(default_factory=lambda: free_in_forks(Lock()))

    def note(self, name: str, milliseconds: float) -> None:
        """Count a launch."""
        with self._lock:
            launches = self.kernels.get(name)
            if launches is None:
                launches = self.kernels[name] = Launches(name, min=milliseconds)
            launches.counter += 1
            launches.total += milliseconds
            launches.min = min(launches.min, milliseconds)
            launches.max = max(launches.max, milliseconds)
            self.last.append((name, milliseconds))

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self.kernels.clear()
            self.last.clear()

    @property
    def total(self) -> float:
        """Milliseconds of all launches."""
        return sum(launches.total for launches in self.kernels.values())


class ProfiledCode(Code):
    """Code whose launches are timed, until the machine has done them."""

    def __init__(self, code: Code, name: str, profile: Profile, wait: Callable[[], None]) -> None:
        self.messages = code.messages
        self._code, self._name, self._profile, self._wait = code, name, profile, wait

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        begun = perf_counter()
        results = self._code.launch(values, arrays)
        self._wait()
        self._profile.note(self._name, 1000 * (perf_counter() - begun))
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
