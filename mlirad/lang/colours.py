"""Colors as triples of numbers between 0 and 1, and as integers `0xRRGGBB`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlirad.errors import TaichiTypeError


def rgb_to_hex(c: Sequence[Any]) -> Any:
    """Return a color as an integer `0xRRGGBB`.

    Args:
        c: three components, which are clipped to the range 0 to 1, or three arrays of components.
            NaN counts as 0.

    Returns:
        An integer, or an array of integers.

    Raises:
        TaichiTypeError: the components are not numbers.
        ValueError: there are fewer than three components.
    """
    if isinstance(c, str | bytes) or not hasattr(c, "__getitem__") or not hasattr(c, "__len__"):
        raise TaichiTypeError(f"expected a color of three components, got {type(c).__name__}")
    if len(c) < 3 or isinstance(c, Mapping):
        raise ValueError(f"expected a color of three components, got {len(c)}")
    components = [np.asarray(c[k]) for k in range(3)]
    if any(component.dtype.kind not in "buif" for component in components):
        raise TaichiTypeError("the components of a color must be numbers")
    with np.errstate(over="ignore"):
        cut = [
            np.nan_to_num(np.clip(255 * component.astype(np.float64), 0, 255))
            for component in components
        ]
    red, green, blue = (np.int32(component) for component in cut)
    return 65536 * red + 256 * green + blue


def hex_to_rgb(color: Any) -> tuple[Any, Any, Any]:
    """Return the three components, 0 to 1, of a color.

    Args:
        color: an integer `0xRRGGBB`, or an array of integers.

    Raises:
        TaichiTypeError: `color` is anything else.
    """
    if hasattr(color, "to_numpy"):
        color = color.to_numpy()
    kind = getattr(getattr(color, "dtype", None), "kind", "i")
    if not isinstance(color, int | np.integer) and (
        kind not in "iu" or not hasattr(color, "dtype")
    ):
        raise TaichiTypeError(f"expected a color as an integer 0xRRGGBB, got {color!r:.80}")
    red, green, blue = (color >> shift & 255 for shift in (16, 8, 0))
    return red / 255, green / 255, blue / 255
