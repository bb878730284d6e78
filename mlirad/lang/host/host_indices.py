"""Subscripts in Python scope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlirad.frontend.python.places.place import wrong_rank
from mlirad.frontend.python.values.matrix import Matrix

# for masks and lists of indices
BY_NUMPY = (
    "x.to_numpy() is a NumPy array that takes it, x.from_numpy(a) writes an array back, and x[1:3] "
    "is a slice"
)


def wrong_index_count(
    name: str, shape: Sequence[int], element_shape: Sequence[int], key: object
) -> str:
    """Return what is wrong with a subscript that has too many or too few indices."""
    message = wrong_rank(name, len(shape), len(key_parts(key)), len(element_shape))
    is_list = isinstance(key, list | np.ndarray)
    return f"{message}; a list is one index, of one element: {BY_NUMPY}" if is_list else message


def key_parts(key: object) -> tuple[int, ...]:
    """The integers of a subscript in Python scope. Raises TypeError for other objects."""
    if key is None:
        return ()
    indices = tuple(key) if isinstance(key, tuple | list | Matrix | np.ndarray) else (key,)
    for index in indices:
        if not isinstance(index, int | np.integer):
            raise _no_integer(key, index)
    return indices


def _no_integer(key: object, index: object) -> TypeError:
    if isinstance(index, np.bool_ | np.ndarray):
        return TypeError(f"an array cannot be an index in Python: {BY_NUMPY}")
    cure = "x[i] is an element, and a field has no names for elements"
    if isinstance(index, float | np.floating) or (isinstance(index, str) and index.isdigit()):
        cure = "int(...) makes it one"
    return TypeError(
        f"an index must be an integer, not {index!r} (a {type(index).__name__}): {cure}"
    )
