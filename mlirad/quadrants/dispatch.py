"""`qd.perf_dispatch`: several implementations of one function, of which the fastest runs."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Any

from mlirad.errors import TaichiRuntimeError, TaichiSyntaxError
from mlirad.lang.start import sync

FORCED = "QD_PERFDISPATCH_FORCE"  # `function:implementation`, with commas between; or `?`
IS_IMPLEMENTATION = "__is_implementation__"  # of a function of Python that is registered
REPEAT_AFTER = 300  # calls, where a program does not say when to measure again


FIRST_WARMUP = 1  # calls of each that are not measured


def forced_names(text: str) -> dict[str, str]:
    """Return the implementation that is forced for each function. Raises ValueError for text that
    is no list of pairs."""
    names = {}
    for pair in text.split(","):
        function, colon, implementation = (word.strip() for word in pair.partition(":"))
        if colon and function and implementation:
            names[function] = implementation
        elif pair.strip() not in ("", "?"):
            raise ValueError(f"{FORCED}: Malformed '{pair}', expected 'function:name'")
    return names


class Implementation:
    """A kernel or a function of Python, and the arguments that it is for."""

    def __init__(self, function: Callable[..., Any], is_compatible: Callable[..., bool] | None):
        self.function, self.is_compatible = function, is_compatible
        self.__name__: str = function.__name__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class _Trials:
    """Measurements of the implementations for one geometry."""

    def __init__(self, warmup: int, active: int) -> None:
        self.warmup, self.active = warmup, active
        self.counts: dict[Implementation, int] = {}
        self.times: dict[Implementation, list[float]] = {}
        self.fastest: Implementation | None = None
        self.calls, self.began = 0, perf_counter()

    def next(self, compatible: list[Implementation]) -> Implementation | None:
        """Return what is to be measured next; None if all was."""
        wanting = (i for i in compatible if self.counts.get(i, 0) < self.warmup + self.active)
        return next(wanting, None)

    def measure(self, implementation: Implementation, call: Callable[[], Any]) -> Any:
        """Make a call, and note how long it takes if the implementation is warm."""
        sync()
        start = perf_counter()
        result = call()
        sync()
        count = self.counts[implementation] = self.counts.get(implementation, 0) + 1
        if count > self.warmup:
            self.times.setdefault(implementation, []).append(perf_counter() - start)
        return result

    def choose(self, compatible: list[Implementation]) -> None:
        """Take the fastest from now on."""
        self.fastest = min(compatible, key=lambda i: sum(self.times[i]))
        self.calls, self.began = 0, perf_counter()


class PerformanceDispatcher:
    """A function that calls the fastest of its implementations: for each geometry, which
    `get_geometry_hash` says of the arguments, it measures `active` calls of each that is compatible
    behind some to warm up, and measures again after a number of calls, or of seconds."""

    def __init__(
        self,
        function: Callable[..., Any],
        get_geometry_hash: Callable[..., Hashable],
        first_warmup: int,
        warmup: int,
        active: int,
        repeat_after_count: int | None,
        repeat_after_seconds: float | None,
    ) -> None:
        self.__name__, self.__doc__, self.__wrapped__ = (
            function.__name__,
            function.__doc__,
            function,
        )
        self._parameters = [*inspect.signature(function).parameters]
        self._geometry_of = get_geometry_hash
        self._first_warmup, self._warmup, self._active = first_warmup, warmup, active
        self.repeat_after_count, self.repeat_after_seconds = (
            repeat_after_count,
            repeat_after_seconds,
        )
        self._implementations: list[Implementation] = []
        self._trials: dict[Hashable, _Trials] = {}
        text = os.environ.get(FORCED, "")
        self._is_listed = bool(text)
        self._forced_name = forced_names(text).get(self.__name__) if text else None

    def register(
        self,
        implementation: Callable[..., Any] | None = None,
        *,
        is_compatible: Callable[..., bool] | None = None,
    ) -> Any:
        """Add an implementation, for arguments of which `is_compatible` says that it is for them.
        Raises TaichiSyntaxError for one with other parameters."""
        if implementation is None:
            return lambda function: self.register(function, is_compatible=is_compatible)
        function = getattr(implementation, "__wrapped__", implementation)
        names = [*inspect.signature(function).parameters]
        if names != self._parameters:
            raise TaichiSyntaxError(
                f"PERFDISPATCH_ANNOTATION_SEQUENCE_MISMATCH: '{function.__name__}' has the "
                f"parameters {names}, expected those of '{self.__name__}', {self._parameters}"
            )
        self._implementations.append(Implementation(implementation, is_compatible))
        if function is implementation:
            setattr(function, IS_IMPLEMENTATION, True)
        if self._is_listed:
            print(f"perf_dispatch '{self.__name__}': registered '{function.__name__}'")
        return implementation

    def _forced(self) -> list[Implementation]:
        """Return the implementation that is forced; none, and a warning, if it is not there."""
        forced = [i for i in self._implementations if i.__name__ == self._forced_name]
        if not forced:
            names = [i.__name__ for i in self._implementations]
            warnings.warn(
                f"{FORCED}: '{self.__name__}' has no implementation '{self._forced_name}', "
                f"only {names}: all of them are tried",
                stacklevel=3,
            )
            self._forced_name = None
        return forced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forced_name is not None and (forced := self._forced()):
            return forced[0](*args, **kwargs)
        compatible = [
            i
            for i in self._implementations
            if i.is_compatible is None or i.is_compatible(*args, **kwargs)
        ]
        if not compatible:
            raise TaichiRuntimeError(
                f"{self.__name__}: no registered implementation is compatible with the arguments"
            )
        if len(compatible) == 1:
            return compatible[0](*args, **kwargs)
        geometry = self._geometry_of(*args, **kwargs)
        trials = self._trials.setdefault(geometry, _Trials(self._first_warmup, self._active))
        if trials.fastest in compatible and not self._is_due(trials):
            trials.calls += 1
            assert trials.fastest is not None
            return trials.fastest(*args, **kwargs)
        if trials.fastest is not None:
            trials = self._trials[geometry] = _Trials(self._warmup, self._active)
        chosen = trials.next(compatible)
        assert chosen is not None
        result = trials.measure(chosen, lambda: chosen(*args, **kwargs))
        if trials.next(compatible) is None:
            trials.choose(compatible)
        return result

    def _is_due(self, trials: _Trials) -> bool:
        """Return whether the implementations are to be measured again."""
        count, seconds = self.repeat_after_count or 0, self.repeat_after_seconds or 0.0
        is_counted = count > 0 and trials.calls + 1 >= count
        return is_counted or (seconds > 0 and perf_counter() - trials.began >= seconds)


def perf_dispatch(
    *,
    get_geometry_hash: Callable[..., Hashable],
    first_warmup: int = FIRST_WARMUP,
    warmup: int = 0,
    active: int = 1,
    repeat_after_count: int | None = None,
    repeat_after_seconds: float | None = None,
) -> Callable[[Callable[..., Any]], PerformanceDispatcher]:
    """Make a function of which `register` adds implementations, kernels or functions of Python;
    calls use the one that was the fastest for arguments of the same geometry. See
    `PerformanceDispatcher`; inside a tape all of them are to compute the same."""
    if repeat_after_count is None and repeat_after_seconds is None:
        repeat_after_count = REPEAT_AFTER

    def mark(function: Callable[..., Any]) -> PerformanceDispatcher:
        repeat = repeat_after_count, repeat_after_seconds
        return PerformanceDispatcher(
            function, get_geometry_hash, first_warmup, warmup, active, *repeat
        )

    return mark


# what programs take from the module inside Quadrants
NAMES = {
    "DEFAULT_REPEAT_AFTER_COUNT": REPEAT_AFTER,
    "NUM_FIRST_WARMUP": FIRST_WARMUP,
    "PerformanceDispatcher": PerformanceDispatcher,
    "_parse_force_map": forced_names,
}

__all__ = ["perf_dispatch"]
