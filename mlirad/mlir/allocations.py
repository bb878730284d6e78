"""Memory for the results of a function, and for what it allocates."""

from __future__ import annotations

import numpy as np

from mlirad.errors import TaichiMemoryError
from mlirad.lang.ndarray import Ndarray
from mlirad.mlir.parameters import Parameter
from mlirad.runtime.memory.values import Values


def new_array(parameter: Parameter, shape: tuple[int, ...], place: str) -> Values:
    """Return an array for a result. Raises TaichiMemoryError, with the place, if it has no room."""
    try:
        return np.empty(shape, parameter.dtype.numpy)
    except (MemoryError, ValueError) as error:
        raise TaichiMemoryError(f"{place}: {error}") from None


def new_memory(parameter: Parameter, shape: tuple[int, ...], place: str) -> Ndarray:
    """Return memory of a launch, of no elements perhaps, with a gradient: forward mode needs its
    tangents. Raises TaichiMemoryError, with the place, if it is too large."""
    try:
        return Ndarray(parameter.dtype, shape, (), parameter.dtype.is_float)
    except TaichiMemoryError as error:
        raise TaichiMemoryError(f"{place}: {error}") from None
