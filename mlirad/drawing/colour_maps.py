"""Numbers as colors."""

from __future__ import annotations

from functools import cache

import numpy as np
from cmap import Colormap

from mlirad.checks import text
from mlirad.drawing.colours import Bytes, as_bytes
from mlirad.drawing.numbers import Numbers


@cache
def _table(name: str) -> Bytes:
    return as_bytes(np.asarray(Colormap(name)(np.linspace(0, 1, 256)))[:, :3])


def _check_name(name: object) -> str:
    try:
        return str(Colormap(text(name, "cmap_name")).name)
    except ValueError as error:
        raise ValueError(f"cmap_name must be a map that cmap knows, not {name!r}") from error


def normalize_range(values: Numbers) -> Numbers:
    """Numbers from 0 to 1, of which the least and the greatest finite ones become these."""
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    return (numbers - low) / (high - low if high > low else 1.0)


def map_colours(values: Numbers, name: str = "plasma") -> Bytes:
    """Numbers from 0 to 1 as colors of a map that `cmap` knows, which has matplotlib's. Raises
    ValueError for an unknown map."""
    return _table(_check_name(name))[(np.clip(np.nan_to_num(values), 0, 1) * 255).astype(np.uint8)]
