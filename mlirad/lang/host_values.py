"""Numbers from Python on their way into integer memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.lang.callers import program_frame
from mlirad.types import DataType


def fitting(value: object, dtype: DataType, what: str) -> Any:
    """A number as an element takes it, with a warning where that loses a fraction.

    Raises TaichiRuntimeTypeError where the number is out of range.
    """
    if not dtype.is_integer or dtype.bits == 1 or not isinstance(value, int | float | np.number):
        return value
    low, high = limits(dtype)
    if not low <= value < high + 1:
        raise TaichiRuntimeTypeError(
            f"{value} does not fit into {what} of type {dtype} ({low} to {high})"
        )
    number = int(value)
    if number != value:
        warnings.warn(
            f"{what} of type {dtype} takes {number} for {value}: int(...) says that the fraction "
            f"is not wanted",
            stacklevel=program_frame()[1],
        )
    return number


def fitting_array(values: np.ndarray[Any, Any], dtype: DataType, what: str) -> np.ndarray[Any, Any]:
    """An array whose numbers all fit into elements of a type. Raises TaichiRuntimeTypeError where
    one does not."""
    if values.ndim == 0:
        return np.asarray(fitting(values.item(), dtype, what))
    if dtype.is_float or dtype.bits == 1 or values.size == 0 or values.dtype.kind not in "iuf":
        return values
    if np.can_cast(values.dtype, dtype.numpy):
        return values
    low, high = limits(dtype)
    for number in (values.min(), values.max()):
        if not low <= number.item() < high + 1:
            raise TaichiRuntimeTypeError(
                f"{number} does not fit into {what} of type {dtype} ({low} to {high})"
            )
    return values


def limits(dtype: DataType) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    return (
        (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
        if dtype.is_signed
        else (0, (1 << dtype.bits) - 1)
    )
