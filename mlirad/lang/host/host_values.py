"""Numbers from Python on their way into memory."""

from __future__ import annotations

import sys
import warnings
from numbers import Number
from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError, TaichiTypeError
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.callers import program_frame
from mlirad.types import DataType

_NO_NUMBERS = {  # kinds of NumPy's types
    "c": "complex numbers: pass .real or .imag, or both as the entries of a vector",
    "M": "dates: pass numbers, such as (dates - dates[0]) / np.timedelta64(1, 's')",
    "m": "durations: divide them by a unit, such as np.timedelta64(1, 's')",
    "S": "texts",
    "U": "texts",
    "V": "records: pass a member, array['name']",
}


def array_of(value: object, target: str) -> np.ndarray[Any, Any]:
    """Numbers, lists or a matrix as NumPy has them. Raises TaichiRuntimeTypeError for what are no
    real numbers, and where some are masked."""
    if isinstance(value, Matrix):
        value = value.rows_list()
    check_unmasked(value, target)
    array = np.asarray(value)
    kind = array.dtype.kind
    if kind in "biuf":
        return array
    if kind == "O":
        strange = [entry for entry in array.flat if not _is_real(entry)]
        if not strange:
            return array
        raise TaichiRuntimeTypeError(
            f"{target} takes numbers: got an element of type {type(strange[0]).__name__}"
        )
    if kind in _NO_NUMBERS and (kind != "V" or issubclass(array.dtype.type, np.void)):
        raise TaichiRuntimeTypeError(f"{target} takes real numbers, not {_NO_NUMBERS[kind]}")
    return array


def check_unmasked(value: object, target: str) -> None:
    """Raise TaichiRuntimeTypeError for an array some elements of which are masked."""
    if "numpy.ma" in sys.modules and np.ma.is_masked(value):
        raise TaichiRuntimeTypeError(
            f"{target} does not take masked elements: use array.filled(...) to give them a value"
        )


def _is_real(value: object) -> bool:
    is_number = isinstance(value, Number | np.bool_)
    return is_number and not isinstance(value, complex | np.complexfloating)


def check_element(values: np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
    """Raise TaichiTypeError for what is neither an element of a shape nor one number for all of
    it."""
    if values.shape not in ((), shape):
        cure = "x.fill(...) and x[i] = ... take one element, and x.from_numpy(...) all of them"
        raise TaichiTypeError(
            f"expected a value of shape {shape}, got shape {values.shape}: {cure}"
        )


def fitting(value: object, dtype: DataType, target: str) -> Any:
    """A number as an element takes it, with a warning where that loses a fraction.

    Raises TaichiRuntimeTypeError if the number is out of range.
    """
    if not dtype.is_integer or dtype.bits == 1 or not isinstance(value, int | float | np.number):
        return value
    low, high = dtype.limits
    if not low <= value < high + 1:
        raise TaichiRuntimeTypeError(
            f"{value} does not fit into {target} of type {dtype} ({low} to {high})"
        )
    number = int(value)
    if number != value:
        _warn_of_fraction(target, dtype, value)
    return number


def fitting_array(
    values: np.ndarray[Any, Any], dtype: DataType, target: str
) -> np.ndarray[Any, Any]:
    """An array whose numbers all fit into elements of a type, with a warning where one loses a
    fraction. Raises TaichiRuntimeTypeError if one is out of range."""
    if values.ndim == 0:
        return np.asarray(fitting(values.item(), dtype, target))
    if dtype.is_float or dtype.bits == 1 or values.size == 0 or values.dtype.kind not in "iuf":
        return values
    if np.can_cast(values.dtype, dtype.numpy):
        return values
    low, high = dtype.limits
    for number in (values.min(), values.max()):
        if not low <= number.item() < high + 1:
            raise TaichiRuntimeTypeError(
                f"{number} does not fit into {target} of type {dtype} ({low} to {high})"
            )
    if values.dtype.kind == "f" and (fractions := values != np.trunc(values)).any():
        _warn_of_fraction(target, dtype, values[fractions][0])
    return values


def _warn_of_fraction(target: str, dtype: DataType, value: float | np.number[Any]) -> None:
    warnings.warn(
        f"{target} of type {dtype} stores {int(value)} instead of {value}: use int(...), or "
        "astype(int) for arrays, to drop the fraction on purpose",
        stacklevel=program_frame()[1],
    )
