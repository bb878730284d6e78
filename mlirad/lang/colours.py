"""Colours as triples of numbers between 0 and 1, and as integers `0xRRGGBB`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def rgb_to_hex(c: Sequence[Any]) -> Any:
    """Return a colour of three components, each cut to 0 to 1, as an integer; of arrays of
    components, an array of integers."""
    red, green, blue = (np.clip(np.int32(255 * np.asarray(one)), 0, 255) for one in c[:3])
    return 65536 * red + 256 * green + blue


def hex_to_rgb(color: Any) -> tuple[Any, Any, Any]:
    """Return the three components of a colour that is an integer, or an array of integers."""
    red, green, blue = (color >> shift & 255 for shift in (16, 8, 0))
    return red / 255, green / 255, blue / 255
