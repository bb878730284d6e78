"""Shifts of integers, with a value for every number of bits, the same on every target.

The number of bits is taken modulo 64, or 32 for types of 32 bits and less, as in Taichi: a shift of
an 8-bit integer by 9 leaves 0 (or -1), one of a 32-bit integer by 33 shifts by 1.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.frontend.python.building.builder import constant, mlir_type
from mlirad.ir import build
from mlirad.ir.ops import Arith
from mlirad.types import DataType, i32, u32


def shift_bits(symbol: str, value: ir.Value, count: ir.Value, dtype: DataType) -> ir.Value:
    """`value << count` or `value >> count`, of one type."""
    constant_count = _constant_value(count)
    if constant_count is not None and 0 <= constant_count < dtype.bits:
        return _shift(symbol, value, count, dtype)
    if dtype.bits >= 32:
        return _shift(symbol, value, _mask(count, dtype), dtype)
    wide = i32 if dtype.is_signed else u32
    extend = build.extsi if dtype.is_signed else build.extui
    a, b = (extend(operand, mlir_type(wide)) for operand in (value, count))
    return build.trunci(_shift(symbol, a, _mask(b, wide), wide), value.type)


def _shift(symbol: str, value: ir.Value, count: ir.Value, dtype: DataType) -> ir.Value:
    right = build.shrsi if dtype.is_signed else build.shrui
    return (build.shli if symbol == "<<" else right)(value, count)


def _mask(count: ir.Value, dtype: DataType) -> ir.Value:
    return build.andi(count, constant(dtype.bits - 1, dtype))


def _constant_value(value: ir.Value) -> int | None:
    if isinstance(value, ir.BlockArgument) or value.owner.name != Arith.CONSTANT:
        return None
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)
