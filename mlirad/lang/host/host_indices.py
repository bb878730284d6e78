"""Subscripts in Python scope."""

from __future__ import annotations

import numpy as np

from mlirad.frontend.python.values.matrix import Matrix


def key_parts(key: object) -> tuple[int, ...]:
    """The integers of a subscript in Python scope. Raises TypeError for other objects."""
    parts = (
        ()
        if key is None
        else tuple(key)
        if isinstance(key, tuple | list | Matrix | np.ndarray)
        else (key,)
    )
    for part in parts:
        if not isinstance(part, int | np.integer):
            raise TypeError(
                f"an index must be an integer, not {part!r} (a {type(part).__name__}): int(...) "
                f"makes it one"
            )
    return parts
