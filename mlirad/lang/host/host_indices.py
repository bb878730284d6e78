"""Subscripts in Python scope."""

from __future__ import annotations

import numpy as np

from mlirad.frontend.python.values.matrix import Matrix


def key_parts(key: object) -> tuple[int, ...]:
    """The integers of a subscript in Python scope. Raises TypeError for other objects."""
    if key is None:
        return ()
    indices = tuple(key) if isinstance(key, tuple | list | Matrix | np.ndarray) else (key,)
    for index in indices:
        if not isinstance(index, int | np.integer):
            raise TypeError(
                f"an index must be an integer, not {index!r} (a {type(index).__name__}): int(...) "
                f"makes it one"
            )
    return indices
