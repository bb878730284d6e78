"""Whose turn it is to touch MLIR: one thread's at a time, for there is one context and it is not
made for several."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# held while layouts are made, kernels compiled, a program started or ended; not by launches
compiling = RLock()


def in_turn(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function wait until no other thread compiles, and others wait until it is done."""

    @wraps(function)
    def waits(*args: P.args, **keywords: P.kwargs) -> R:
        with compiling:
            return function(*args, **keywords)

    return waits
