"""Vectors that a program passes: fields, ndarrays, NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.kinds import ScalarField
from mlirad.lang.ndarray import Ndarray
from mlirad.types import DataType

Numbers = NDArray[np.float64]


def is_stored(vector: object) -> bool:
    """Return whether a vector is a field or an ndarray of scalars."""
    is_array = isinstance(vector, Ndarray) and not vector.element_shape
    return is_array or isinstance(vector, ScalarField)


def numbers_of(vector: Any, length: int, dtype: DataType, subject: str) -> Numbers:
    """The numbers of a vector of so many, in f64.

    Raises TaichiTypeError for what is no vector, or for a field or ndarray of another type,
    TaichiRuntimeError for another length.
    """
    if is_stored(vector):
        if vector.dtype != dtype:
            raise TaichiTypeError(
                f"{subject} has type {vector.dtype}, but the matrix has type {dtype}"
            )
        numbers = vector.to_numpy()
    elif isinstance(vector, np.ndarray) and vector.dtype.kind in "buif":
        numbers = vector
    else:
        raise TaichiTypeError(
            f"expected {subject} as a field or ndarray of scalars, or a NumPy array, got "
            f"{type(vector).__name__}"
        )
    if numbers.shape != (length,):
        raise TaichiRuntimeError(f"{subject} has shape {numbers.shape}, expected ({length},)")
    return numbers.astype(np.float64)


def gradient_of(vector: Any) -> Any:
    """The gradient of a field or ndarray; None if it has none."""
    return getattr(vector, "grad", None) if is_stored(vector) else None


def add_to_gradient(vector: Any, amounts: Numbers) -> None:
    """Add to the gradient of a vector, where it has one."""
    grad = gradient_of(vector)
    if grad is not None:
        grad.from_numpy((grad.to_numpy() + amounts).astype(vector.dtype.numpy))


def take_gradient(vector: Any) -> Numbers:
    """The gradient of a vector that a step overwrote, which is 0 from then on."""
    gradient: Numbers = vector.grad.to_numpy().astype(np.float64)
    vector.grad.fill(0)
    return gradient


def write(vector: Any, numbers: Numbers) -> None:
    """Set a field or an ndarray."""
    vector.from_numpy(numbers.astype(vector.dtype.numpy))


def written_to(vector: Any, out: Any, length: int, dtype: DataType, carries: bool) -> Any:
    """Return the target of a step: `out`, else a new ndarray where an ndarray was given, else
    None for an array of NumPy's. `carries` says that a derivative passes, while a tape records.

    Raises TaichiTypeError and TaichiRuntimeError if it does not fit, or loses the derivative.
    """
    if out is None and isinstance(vector, Ndarray):
        return Ndarray(dtype, (length,), (), carries)
    if out is None:
        if carries:
            raise TaichiRuntimeError(
                "the result is a NumPy array, which carries no derivative on a tape: pass "
                "ndarrays, or a field for the result (x=...), or decorate the calling function "
                "with ti.ad.no_grad"
            )
        return None
    if not is_stored(out) or out.dtype != dtype or tuple(out.shape) != (length,):
        raise TaichiTypeError(
            f"expected a field or ndarray of {length} scalars of {dtype} for the result, got "
            f"{out!r}"
        )
    if carries and gradient_of(out) is None:
        raise TaichiRuntimeError(
            "the result carries a derivative on this tape: its field or ndarray needs "
            "needs_grad=True"
        )
    return out


def check_dtype(dtype: DataType) -> DataType:
    """A type of matrices. Raises TaichiTypeError for another than f32 and f64."""
    if not dtype.is_float or dtype.bits not in (32, 64):
        raise TaichiTypeError(f"expected f32 or f64 as the type of a sparse matrix, got {dtype}")
    return dtype
