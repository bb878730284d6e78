"""Numbers of Python and NumPy in a kernel: their types, and constants of them."""

from __future__ import annotations

from typing import Any

from mlirad.bindings import ir
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.builder import constant, current
from mlirad.types import DataType, u1


def number_type(value: object) -> DataType:
    """The type of a number in the kernel under construction: the default types, NumPy's too.
    Raises TaichiTypeError for what is no number."""
    if isinstance(value, bool):
        return u1
    if isinstance(value, int):
        default = current().default_ip
        if not in_range(value, default):
            raise TaichiTypeError(
                f"Constant {value} has exceeded the range of default_ip: {default}; ti.i64(...) "
                "or ti.u64(...) give it a wider type"
            )
        return default
    if isinstance(value, float):
        return current().default_fp
    if hasattr(value, "item"):
        return number_type(value.item())
    refuse_whole(value)
    raise TaichiTypeError(f"{type(value).__name__} cannot be a value in a kernel")


def refuse_whole(*values: object) -> None:
    """Raise TaichiTypeError if one is a whole field or array."""
    for value in values:
        if hasattr(type(value), "__kernel_ref__") or hasattr(value, "element_shape"):
            raise TaichiTypeError(
                "a whole field or array stands where a number is needed: its elements are x[i], "
                "or x[None] if it has no axes"
            )


def in_range(value: int, dtype: DataType) -> bool:
    """Return whether an integer type has a number."""
    low, high = dtype.limits
    return low <= value <= high


def number_constant(value: Any, dtype: DataType) -> ir.Value:
    """A number as a constant of a type, converted as C does; of `u1`, whether it is not zero."""
    if isinstance(value, int) and dtype.is_integer and not -(1 << 63) <= value < 1 << 64:
        raise TaichiTypeError(
            f"Constant {value} has exceeded the range of specified dtype: {dtype}"
        )
    number = value if isinstance(value, bool | int | float) else value.item()
    return constant(bool(number) if dtype == u1 else number, dtype)
