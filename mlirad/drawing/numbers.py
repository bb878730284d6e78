"""What a user passes to be drawn, as NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlirad.errors import TaichiTypeError

Numbers = NDArray[Any]


def as_array(value: object, what: str) -> Numbers:
    """The numbers of a field, an ndarray, a tensor, or of anything that NumPy takes. Raises
    TaichiTypeError for what has none."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.asarray(None)
    if found.dtype.kind not in "buif":
        raise TaichiTypeError(f"{what} must be numbers, not {type(value).__name__}")
    return found


def as_points(value: object, what: str, axes: int = 2) -> Numbers:
    """Points, one a row, in f64. Raises ValueError for another shape."""
    found = np.squeeze(as_array(value, what))
    points = found.reshape(-1, axes) if found.ndim <= 1 and found.size in (0, axes) else found
    if points.ndim < 2 or points.shape[-1] != axes:
        raise ValueError(f"{what} must be points of {axes} numbers, not of shape {found.shape}")
    return points.reshape(-1, axes).astype(np.float64)


def per_point(value: object, count: int, what: str) -> Numbers:
    """A number for each of so many points, where one is given for all, too. Raises ValueError for
    another number of them."""
    found = as_array(value, what).reshape(-1).astype(np.float64)
    if found.size not in (1, count):
        raise ValueError(f"{what} must be one number, or {count}, not {found.size}")
    return np.broadcast_to(found, (count,))
