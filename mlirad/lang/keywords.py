"""Keywords that a function does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from mlirad.errors import TaichiTypeError, did_you_mean


def refuse_unknown(subject: str, unknown: Iterable[str], function: Callable[..., Any]) -> None:
    """Raise TaichiTypeError for the first of some keywords that a function does not have."""
    for name in unknown:  # a signature takes long, and most calls have no unknown keyword
        names = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind is not inspect.Parameter.VAR_KEYWORD and p.name != "element_shape"
        ]
        raise TaichiTypeError(
            f"{subject} has no keyword '{name}'{did_you_mean(name, names)} "
            f"(it has {', '.join(names)})"
        )
