"""Numbers and matrices as arguments of a launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.python_numbers import in_range
from mlirad.lang.arguments.parameters import Parameter
from mlirad.lang.host.array_protocols import AsArray
from mlirad.runtime.config import Config
from mlirad.types import DataType, resolve


def scalar_dtype(param: Parameter, config: Config) -> DataType:
    """The type a scalar parameter is passed as."""
    return scalar_type(param.annotation, config)


def scalar_type(declared: Any, config: Config) -> DataType:
    """The type of a scalar, or of the entries of a vector or matrix, of a declared type."""
    dtype = declared.dtype if isinstance(declared, MatrixType) else declared
    return resolve(float if dtype is None else dtype, config.default_fp, config.default_ip)


def plain_range(dtype: DataType) -> tuple[type, float, float]:
    """The Python type whose numbers need no conversion to a scalar type, and their range."""
    low, high = dtype.limits
    if dtype.is_float:
        return float, low, high
    return bool if dtype.bits == 1 else int, low, high + 1


def convert_scalar(value: object, dtype: DataType, name: str) -> Any:
    """A Python number for a scalar parameter. Raises TaichiRuntimeTypeError for anything that is
    not one."""
    if type(value) is float and dtype.is_float:
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.shape == ()):
        value = value.item()
    if isinstance(value, bool) or (isinstance(value, int) and dtype.is_integer):
        if dtype.is_integer and dtype.bits > 1 and not in_range(value, dtype):
            raise TaichiRuntimeTypeError(f"Argument {name}: {value} does not fit into {dtype}")
        return bool(value) if dtype.bits == 1 else value
    if isinstance(value, int | float) and dtype.is_float:
        return float(value)
    raise TaichiRuntimeTypeError(
        f"Argument {name} (type={type(value).__name__}) cannot be converted into required "
        f"type {dtype}{_number_instead(value, is_integer=dtype.is_integer)}"
    )


def _number_instead(value: object, *, is_integer: bool) -> str:
    """Return a hint for a fraction, or an array, that is passed where a number is declared."""
    if isinstance(value, float) and is_integer:
        return f": pass int({value}), or declare the parameter as ti.f32 or ti.f64"
    if isinstance(value, AsArray):
        return ": x[None] or x[i] is a number; a parameter of type ti.template() takes a field"
    if isinstance(value, np.ndarray | list | tuple):
        return ": a parameter of type ti.types.ndarray() takes an array"
    return ""


def entries_of(value: object, shape: tuple[int, ...], dtype: DataType, name: str) -> list[Any]:
    """The entries of a matrix argument. Raises TaichiRuntimeTypeError for another shape, and for a
    field, whose gradient would not be known."""
    if isinstance(value, AsArray):
        raise TaichiRuntimeTypeError(
            f"Argument {name}: got {value!r}, expected a value of shape {shape}: pass one "
            "element of the array"
        )
    rows = value.rows_list() if isinstance(value, Matrix) else value
    # else wide integers become floats
    array = np.asarray(rows, object if isinstance(rows, list | tuple) else None)
    if array.shape != shape:
        raise TaichiRuntimeTypeError(
            f"Argument {name}: expected a value of shape {shape}, got shape {array.shape}"
        )
    return [convert_scalar(entry, dtype, name) for entry in array.reshape(-1).tolist()]
