"""Names that functions of `ti.simt` had before."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(module: str, name: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that warns of its name, and does what another one does."""

    @wraps(function)
    def warn_and_call(*args: P.args, **keywords: P.kwargs) -> R:
        warnings.warn(
            f"qd.simt.{module}.{name}() is deprecated; use "
            f"qd.simt.{module}.{function.__name__}() instead",
            DeprecationWarning,
            stacklevel=2,
        )
        return function(*args, **keywords)

    warn_and_call.__name__ = name
    return warn_and_call
