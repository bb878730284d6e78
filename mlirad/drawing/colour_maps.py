"""Numbers as colours."""

from __future__ import annotations

from functools import cache

import numpy as np
from cmap import Colormap

from mlirad.drawing.colours import Bytes, as_bytes
from mlirad.drawing.numbers import Numbers


@cache
def _table(name: str) -> Bytes:
    return as_bytes(np.asarray(Colormap(name)(np.linspace(0, 1, 256)))[:, :3])


def mapped(values: Numbers, name: str = "plasma") -> Bytes:
    """Numbers from 0 to 1 as colours of a map that `cmap` knows, which has matplotlib's. Raises
    ValueError for an unknown map."""
    return _table(name)[(np.clip(np.nan_to_num(values), 0, 1) * 255).astype(np.uint8)]
