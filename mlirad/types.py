"""Scalar element types and Taichi's promotion rules."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np


class DataType(msgspec.Struct, frozen=True, dict=True):
    """A scalar type: `kind` is "f" (float), "i" (signed) or "u" (unsigned; `u1` is the boolean)."""

    name: str
    kind: str
    bits: int

    if TYPE_CHECKING:  # a program compares with `ti.f32`, an alias of `float` to checkers

        def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str:
        return self.name

    def to_string(self) -> str:
        """Its name."""
        return self.name

    @cached_property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind != "f"

    @property
    def is_signed(self) -> bool:
        return self.kind != "u"

    @property
    def size(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the same layout."""
        return np.dtype(np.bool_) if self.bits == 1 else np.dtype(f"{self.kind}{self.bits // 8}")

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest number, which is an integer if the type is one of integers."""
        if self.is_float:
            return -inf, inf
        high = (1 << (self.bits - self.is_signed)) - 1
        return -high - 1 if self.is_signed else 0, high

    @property
    def mlir(self) -> str:
        """The MLIR spelling; integers are signless there."""
        return f"f{self.bits}" if self.is_float else f"i{self.bits}"


f16, f32, f64 = (DataType(f"f{bits}", "f", bits) for bits in (16, 32, 64))
i8, i16, i32, i64 = (DataType(f"i{bits}", "i", bits) for bits in (8, 16, 32, 64))
u1, u8, u16, u32, u64 = (DataType(f"u{bits}", "u", bits) for bits in (1, 8, 16, 32, 64))
ALL = (f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64)
BY_NAME = {t.name: t for t in ALL}
_BY_NUMPY = {t.numpy: t for t in ALL}
_BY_MLIR = {t.mlir: t for t in reversed(ALL)}
TypeLike = DataType | type[Any] | np.dtype[Any] | str  # what a program may mean a scalar type by


def from_numpy(dtype: type[Any] | np.dtype[Any] | str) -> DataType:
    """The scalar type of a NumPy type. Raises TypeError for one without a counterpart."""
    if not isinstance(dtype, type | np.dtype | str):  # None would be f64 to NumPy
        raise TypeError(
            f"expected a type of numbers, such as ti.f32, as the first argument, got {dtype!r}"
        )
    try:
        np.dtype(dtype)
    except TypeError:
        hint = f": write ti.{dtype}" if dtype in BY_NAME else ""
        raise TypeError(
            f"expected a type of numbers, such as ti.f32, got {dtype!r}{hint}"
        ) from None
    try:
        return _BY_NUMPY[np.dtype(dtype)]
    except KeyError:
        if not np.dtype(dtype).isnative:
            raise TypeError(
                f"the bytes of NumPy's {np.dtype(dtype)} lie in another order than this machine's: "
                "array.astype(array.dtype.newbyteorder('=')) is a copy that can be passed"
            ) from None
        raise TypeError(f"no mlirad type for NumPy's {np.dtype(dtype)}") from None


def from_mlir(text: str) -> DataType:
    """The scalar type that MLIR spells so; signed, where it is an integer."""
    return _BY_MLIR[text]


class DefaultUnsigned:
    """The unsigned integers as wide as the default integer type."""


def resolve(dtype: TypeLike, default_fp: DataType = f32, default_ip: DataType = i32) -> DataType:
    """The scalar type a user means by `float`, `int`, `bool`, a NumPy type or a DataType."""
    if isinstance(dtype, DataType):
        return dtype
    if dtype is DefaultUnsigned:
        return u64 if default_ip.bits == 64 else u32
    if dtype is float:
        return default_fp
    if dtype is int:
        return default_ip
    if dtype is bool:
        return u1
    return from_numpy(dtype)


def promote(left: DataType, right: DataType) -> DataType:
    """The type of an arithmetic result: floats win, then bits; between equal bits unsigned wins."""
    if left == right:
        return left
    if left.is_float != right.is_float:
        return left if left.is_float else right
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return left if left.kind == "u" else right
