"""Keywords that a function does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from mlirad.errors import TaichiTypeError, did_you_mean


def refuse_unknown(what: str, unknown: Iterable[str], known: Callable[..., Any]) -> None:
    """Raise TaichiTypeError for the first of some keywords that a function does not have."""
    names = [
        p.name
        for p in inspect.signature(known).parameters.values()
        if p.kind is not inspect.Parameter.VAR_KEYWORD and p.name != "element_shape"
    ]
    for name in unknown:
        raise TaichiTypeError(
            f"{what} has no keyword '{name}'{did_you_mean(name, names)} (it has {', '.join(names)})"
        )
