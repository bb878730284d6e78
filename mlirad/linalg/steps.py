"""Steps of linear algebra on a tape: what they do, and what their reverse does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mlirad.lang.recorder import FunctionCall
from mlirad.runtime.program import program

Result = TypeVar("Result")


class Step:
    """A call, as a tape keeps it: a function whose gradient is another function."""

    def __init__(self, name: str, run: Callable[[], object], grad: Callable[[], None]) -> None:
        self.__name__, self.run, self.grad = name, run, grad

    def __call__(self) -> object:
        """Do it."""
        return self.run()


def is_recording() -> bool:
    """Return whether derivatives are taken of what is done now."""
    recorder = program().threads.recorder
    return recorder is not None and recorder.is_differentiating


def step(name: str, run: Callable[[], Result], grad: Callable[[], None]) -> Result:
    """Do something; where a tape records, `grad` is called in its reverse."""
    recorder = program().threads.recorder
    if recorder is None:
        return run()
    result: Result = recorder.call_function(FunctionCall(Step(name, run, grad), run))
    return result
