"""Colors as bytes, three a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlirad.drawing.numbers import as_array

Bytes = NDArray[np.uint8]


def colours_of_integers(value: object, count: int) -> Bytes:
    """The colors `0xRRGGBB` of so many shapes; one integer is that of all. Raises ValueError for
    another number of them."""
    integers = as_array(value, "color").reshape(-1)
    if integers.dtype.kind == "f" and not (np.abs(integers.astype(np.float64)) < 2.0**32).all():
        raise ValueError("color must be integers 0xRRGGBB, not such numbers as nan and inf")
    packed = integers.astype(np.int64)
    if packed.size not in (1, count):
        raise ValueError(f"expected one color, or {count}, got {packed.size}")
    colours = np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=-1)
    return np.broadcast_to(colours.astype(np.uint8), (count, 3))


def colours_of_palette(palette: object, indices: object, count: int) -> Bytes:
    """The colors that indices choose from a list of `0xRRGGBB`. Raises ValueError for indices
    that are missing, or not of the list."""
    if indices is None:
        raise ValueError("palette must be used together with palette_indices")
    chosen = as_array(indices, "palette_indices").reshape(-1)
    colours = as_array(palette, "palette").reshape(-1)
    if chosen.size != count:
        raise ValueError(f"palette_indices must be {count} integers, not {chosen.size}")
    if not (np.abs(chosen.astype(np.float64)) < 2.0**32).all():
        raise ValueError("palette_indices must be integers, not such numbers as nan and inf")
    chosen = chosen.astype(np.int64)
    if count and not 0 <= chosen.min() <= chosen.max() < len(colours):
        raise ValueError(f"palette_indices must be from 0 to {len(colours) - 1}")
    return colours_of_integers(colours[chosen], count)


def bytes_of_parts(value: object, count: int) -> Bytes:
    """Colors given by numbers from 0 to 1, three or four a point; one color is that of all.
    Raises ValueError for another shape."""
    colours = np.asarray(as_array(value, "color"), dtype=np.float64)
    if not colours.size:
        raise ValueError(
            f"expected one color of 3 components, or {count} of them, got shape {colours.shape}"
        )
    colours = colours.reshape(-1, colours.shape[-1] if colours.ndim else 1)
    if colours.shape[1] not in (3, 4) or colours.shape[0] not in (1, count):
        raise ValueError(
            f"expected one color of 3 components, or {count} of them, got shape {colours.shape}"
        )
    return np.broadcast_to(as_bytes(colours[:, :3]), (count, 3))


def as_bytes(colours: Any) -> Bytes:
    """Numbers from 0 to 1 as bytes; what is no number is 0."""
    return (np.clip(np.nan_to_num(colours), 0, 1) * 255 + 0.5).astype(np.uint8)
