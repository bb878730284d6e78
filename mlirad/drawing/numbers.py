"""Conversion of a user's drawing data to NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlirad.errors import TaichiTypeError

Numbers = NDArray[Any]


def as_array(value: object, subject: str) -> Numbers:
    """The numbers of a field, an ndarray, a tensor, or of anything that NumPy takes. Raises
    TaichiTypeError for what has none."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "buif":
        raise TaichiTypeError(f"{subject} must be numbers, not {type(value).__name__}")
    return array


def as_points(value: object, subject: str, axes: int = 2) -> Numbers:
    """Points, one a row, in f64. Raises ValueError for another shape."""
    array = np.squeeze(as_array(value, subject))
    points = array.reshape(-1, axes) if array.ndim <= 1 and array.size in (0, axes) else array
    if points.ndim < 2 or points.shape[-1] != axes:
        raise ValueError(f"{subject} must be points of {axes} numbers, not of shape {array.shape}")
    return points.reshape(-1, axes).astype(np.float64)


def per_point(value: object, count: int, subject: str) -> Numbers:
    """A number for each of so many points, where one is given for all, too. Raises ValueError for
    another number of them."""
    numbers = as_array(value, subject).reshape(-1).astype(np.float64)
    if numbers.size not in (1, count):
        raise ValueError(f"{subject} must be one number, or {count}, not {numbers.size}")
    return np.broadcast_to(numbers, (count,))
