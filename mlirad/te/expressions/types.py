"""The types of scalar expressions: those of elements, and two of numbers that have none yet."""

from __future__ import annotations

from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.runtime.program import is_started, program
from mlirad.te.places import place
from mlirad.types import DataType, f32, i32, promote, resolve

INDEX = DataType("index", "i", 64)  # of indices, sizes and Python's integers
FLOAT = DataType("float", "f", 64)  # of what is computed of these and of Python's floats


def default_float() -> DataType:
    """The type of floats that meet no other: `default_fp` of `ti.init`."""
    return program().config.default_fp if is_started() else f32


def default_integer() -> DataType:
    """The type of integers that meet no other: `default_ip` of `ti.init`."""
    return program().config.default_ip if is_started() else i32


def common_type(left: DataType, right: DataType) -> DataType:
    """The type of an arithmetic result: typed floats win, then floats without a type, then indices,
    then other integers."""
    for untyped in (INDEX, FLOAT):
        if untyped in (left, right):
            other = right if left == untyped else left
            return other if other.is_float else untyped
    return promote(left, right)


def scalar_type(dtype: Any, subject: str = "dtype") -> DataType:
    """The type that a program means. Raises TaichiTypeError for what is none."""
    try:
        return resolve(dtype, default_float(), default_integer())
    except TypeError as error:
        raise TaichiTypeError(f"{subject}: {error}", place()) from None
