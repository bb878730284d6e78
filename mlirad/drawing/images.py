"""Images as users have them, `[x, y]` from the lower left corner, and as bytes in rows from the
top."""

from __future__ import annotations

import numpy as np

from mlirad.drawing.colours import Bytes
from mlirad.drawing.numbers import as_array
from mlirad.errors import TaichiTypeError


def image_bytes(image: object) -> Bytes:
    """An image as bytes `[x, y]` or `[x, y, channel]`: floats from 0 to 1, unsigned integers by
    their greatest value. Raises ValueError for another shape, TaichiTypeError for other numbers."""
    array = as_array(image, "an image")
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[..., 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and not 1 <= array.shape[2] <= 4):
        raise ValueError(
            f"expected an image of shape (x, y), or (x, y, 1 to 4 channels), got {array.shape}"
        )
    if not array.size:
        raise ValueError(f"an image has pixels: one of shape {array.shape} has none")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind == "f":
        return (np.clip(np.nan_to_num(array), 0, 1) * np.float32(255)).astype(np.uint8)
    if array.dtype.kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype.kind == "u":
        return (array // (np.iinfo(array.dtype).max // 255)).astype(np.uint8)
    raise TaichiTypeError(
        f"expected an image of floats from 0 to 1 or of unsigned integers, got {array.dtype}"
    )


def rows_from_top(image: Bytes) -> Bytes:
    """`[x, y]` from the lower left corner as rows from the top, and `[row, column]` from the top
    as `[x, y]` if it is turned twice more."""
    return np.swapaxes(image, 0, 1)[::-1]


def from_rows(rows: Bytes) -> Bytes:
    """Rows from the top as `[x, y]` from the lower left corner."""
    return np.swapaxes(rows[::-1], 0, 1)


def as_rgb(image: Bytes) -> Bytes:
    """An image of one to four channels with three: one is gray, two are red and green."""
    channels = image[..., None] if image.ndim == 2 else image
    if channels.shape[2] == 1:
        return np.broadcast_to(channels, (*channels.shape[:2], 3))
    if channels.shape[2] == 2:
        return np.concatenate([channels, np.zeros_like(channels[..., :1])], axis=2)
    return channels[..., :3]
