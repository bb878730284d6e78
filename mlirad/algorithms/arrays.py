"""Fields and ndarrays of numbers in a row."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mlirad.drawing.numbers import as_array
from mlirad.errors import TaichiTypeError
from mlirad.lang.field.kinds import ScalarField
from mlirad.lang.ndarray import Ndarray


def in_a_row(value: object, subject: str) -> NDArray[Any]:
    """The numbers of a field or ndarray with one axis. Raises TaichiTypeError for anything else."""
    if not isinstance(value, ScalarField | Ndarray):
        raise TaichiTypeError(
            f"expected {subject} as a field or an ndarray, got {type(value).__name__}"
        )
    array: NDArray[Any] = as_array(value, subject)
    if array.ndim != 1:
        raise TaichiTypeError(
            f"expected {subject} with one axis of numbers, got shape {array.shape}"
        )
    return array


def put(value: Any, array: NDArray[Any]) -> None:
    """Write the numbers back."""
    value.from_numpy(array)
