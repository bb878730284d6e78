"""Arithmetic on MLIR values of one scalar type: the op for floats, signed and unsigned integers."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.frontend.python.building.builder import constant
from mlirad.frontend.python.values import integer_division
from mlirad.frontend.python.values.overflow import report_overflow
from mlirad.ir import build
from mlirad.ir.ops import Math
from mlirad.types import DataType

_NAMES = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


def calculate(symbol: str, a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """`+`, `-` or `*`; under `debug=True`, with a message if integers overflow."""
    if dtype.is_float:
        return build.make(f"arith.{_NAMES[symbol]}f", a.type, [a, b])
    result = combine(symbol, a, b)
    report_overflow(symbol, a, b, result, dtype)
    return result


def combine(symbol: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """`+`, `-`, `*`, `&`, `|` or `^` on integers or `index` values, which wraps."""
    return build.make(f"arith.{_NAMES[symbol]}i", a.type, [a, b])


def floor_quotient(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The quotient rounded towards minus infinity."""
    if not dtype.is_float:
        return integer_division.floor_quotient(a, b, dtype)
    return build.floor(build.divf(a, b))


def negate(value: ir.Value, dtype: DataType) -> ir.Value:
    """`-value`; without signs, the complement to 2ⁿ, which is no overflow."""
    if dtype.is_float:
        return build.negf(value)
    zero = constant(0, dtype)
    if dtype.is_signed:
        return calculate("-", zero, value, dtype)
    return build.sub(zero, value)


def absolute(value: ir.Value, dtype: DataType) -> ir.Value:
    """The absolute value of a float or a signed integer."""
    return build.make(Math.ABSF if dtype.is_float else Math.ABSI, value.type, [value])
