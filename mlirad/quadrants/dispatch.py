"""`qd.perf_dispatch`: several implementations of one function, of which the fastest runs."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable
from typing import Any

import msgspec

from mlirad.errors import TaichiRuntimeError
from mlirad.lang.start import sync


class _Implementation(msgspec.Struct):
    run: Callable[..., Any]
    is_compatible: Callable[..., bool] | None


class _Trial(msgspec.Struct):
    """What was measured for arguments of one geometry."""

    began: float
    seconds: dict[int, float] = msgspec.field(default_factory=dict)  # the least, by implementation
    calls: dict[int, int] = msgspec.field(default_factory=dict)
    chosen_calls: int = 0


class Dispatcher:
    """A function that is one of its registered implementations: each is tried in turn for the
    arguments of a geometry, then the fastest is called."""

    def __init__(
        self,
        function: Callable[..., Any],
        get_geometry_hash: Callable[..., Hashable],
        trials: tuple[int, int],
        repeat_after: tuple[int, float],
    ) -> None:
        functools.update_wrapper(self, function)
        self._name = function.__name__
        self._geometry = get_geometry_hash
        self._warmup, self._active = trials
        self._repeat_count, self._repeat_seconds = repeat_after
        self._implementations: list[_Implementation] = []
        self._trials: dict[Hashable, _Trial] = {}

    def register(
        self,
        implementation: Callable[..., Any] | None = None,
        *,
        is_compatible: Callable[..., bool] | None = None,
    ) -> Any:
        """Add an implementation, which runs only where `is_compatible(*arguments)`, if given."""

        def add(run: Callable[..., Any]) -> Callable[..., Any]:
            self._implementations.append(_Implementation(run, is_compatible))
            return run

        return add if implementation is None else add(implementation)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run an implementation that takes these arguments."""
        compatible = [
            number
            for number, candidate in enumerate(self._implementations)
            if candidate.is_compatible is None or candidate.is_compatible(*args, **kwargs)
        ]
        if not compatible:
            raise TaichiRuntimeError(
                f"{self._name}: no registered implementation is compatible with the arguments"
            )
        if len(compatible) == 1:
            return self._implementations[compatible[0]].run(*args, **kwargs)
        trial = self._trial(self._geometry(*args, **kwargs))
        for number in compatible:
            if trial.calls.get(number, 0) < self._warmup + self._active:
                return self._measure(trial, number, args, kwargs)
        trial.chosen_calls += 1
        fastest = min(compatible, key=trial.seconds.__getitem__)
        return self._implementations[fastest].run(*args, **kwargs)

    def _trial(self, geometry: Hashable) -> _Trial:
        """Return the measurements of a geometry; they begin again when they are old."""
        now, trial = time.perf_counter(), self._trials.get(geometry)
        if trial is None or (
            trial.chosen_calls
            and (
                0 < self._repeat_count <= trial.chosen_calls
                or 0 < self._repeat_seconds <= now - trial.began
            )
        ):
            trial = self._trials[geometry] = _Trial(now)
        return trial

    def _measure(self, trial: _Trial, number: int, args: Any, kwargs: Any) -> Any:
        sync()
        began = time.perf_counter()
        result = self._implementations[number].run(*args, **kwargs)
        sync()
        took = time.perf_counter() - began
        calls = trial.calls[number] = trial.calls.get(number, 0) + 1
        if calls > self._warmup:
            trial.seconds[number] = min(took, trial.seconds.get(number, took))
        return result


def perf_dispatch(
    *,
    get_geometry_hash: Callable[..., Hashable],
    warmup: int = 3,
    active: int = 1,
    repeat_after_count: int = 0,
    repeat_after_seconds: float = 1.0,
) -> Callable[[Callable[..., Any]], Dispatcher]:
    """Make a function, whose body never runs, one of the implementations that are registered with
    it: each runs `warmup` times and `active` times more, which are timed; then the fastest runs,
    until `repeat_after_count` calls or `repeat_after_seconds` later all are timed again."""
    return lambda function: Dispatcher(
        function,
        get_geometry_hash,
        (warmup, max(active, 1)),
        (repeat_after_count, repeat_after_seconds),
    )


__all__ = ["perf_dispatch"]
