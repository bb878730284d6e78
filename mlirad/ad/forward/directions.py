"""Seeds of forward mode: the directions that derivatives are taken along."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.recorder import Target
from mlirad.runtime.program import settled

_NO_SEED = (
    "`seed` is not set for non 0-D field, please specify. It is a list with one number for each "
    "element of the parameter: how much it changes. [0, 0, 1] gives derivatives with respect to "
    "the third of three elements"
)
Array = np.ndarray[Any, Any]


def directions_of(param: Target, seed: Any) -> Array:
    """The seed as an array of shape `(k, *shape)`."""
    shape = (*param.shape, *param.element_shape)
    size = int(np.prod(shape))
    if seed is None:
        if size != 1:
            raise TaichiRuntimeError(_NO_SEED)
        return np.ones((1, *shape))
    rows = floats(seed)
    if rows.shape in (shape, (size,)) or (size == 1 and rows.shape == ()):
        return rows.reshape(1, *shape)
    if rows.ndim >= 1 and rows.shape[1:] in (shape, (size,)) and rows.shape[0] > 0:
        return rows.reshape(-1, *shape)
    raise TaichiTypeError(
        f"a seed of shape {rows.shape} for a parameter of shape {shape}: it has that shape, or "
        f"({size},), or that of several directions, (k, {size})"
    )


def floats(values: Any) -> Array:
    """An array of floats, in their own type where they have one, that does not change with
    memory."""
    array = settled(np.asarray(values))
    return array if array.dtype.kind == "f" else array.astype(np.float64)
