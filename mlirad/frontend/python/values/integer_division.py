"""Quotients and remainders of integers, with a value for every divisor, the same on every target.

By 0 both are 0. The least integer by -1 wraps: the quotient is the least integer again, the
remainder is 0. So it is in NumPy. With `debug=True` a division by 0, and a quotient that wraps, are
failed assertions.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.frontend.python.building.builder import constant, current, mlir_type
from mlirad.ir import build
from mlirad.ir.ops import Arith, Math
from mlirad.types import DataType, u1


def floor_quotient(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The quotient rounded towards minus infinity."""
    if not dtype.is_signed:
        return raw_quotient(a, b, dtype)
    if _is_harmless(b, dtype):
        return build.floordivsi(a, b)
    quotient, remainder = _quotient(a, b, dtype), raw_remainder(a, b, dtype)
    less = build.sub(quotient, constant(1, dtype))
    return _unless_zero(b, build.select(_is_below(remainder, b, dtype), less, quotient), dtype)


def raw_quotient(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The quotient rounded towards 0."""
    quotient = _quotient(a, b, dtype)
    return quotient if _is_harmless(b, dtype) else _unless_zero(b, quotient, dtype)


def raw_remainder(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The remainder of the quotient rounded towards 0."""
    return (build.remsi if dtype.is_signed else build.rem)(a, _divisor(a, b, dtype))


def floor_remainder(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The remainder of the quotient rounded down, which has the sign of the divisor."""
    if not dtype.is_signed:
        return raw_remainder(a, b, dtype)
    if not _is_harmless(b, dtype):
        remainder = raw_remainder(a, b, dtype)
        return build.select(_is_below(remainder, b, dtype), build.add(remainder, b), remainder)
    quotient = build.floordivsi(a, b)
    return build.sub(a, build.mul(quotient, b))


def power(base: ir.Value, exponent: ir.Value, dtype: DataType) -> ir.Value:
    """An integer to an integer; 0 to a negative exponent, a division by 0 too, is 0."""
    zero = constant(0, dtype)
    negative = build.compare(build.SLT, exponent, zero)
    if current().debug:
        _check(_not(negative), base, "an integer to a negative power: the base is {}", dtype)
    divides = build.all_of([negative, build.compare(build.EQ, base, zero)])
    nonzero = build.select(divides, constant(2, dtype), base)
    return build.make(Math.IPOWI, mlir_type(dtype), [nonzero, exponent])


def _quotient(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The quotient rounded towards 0; by 0, anything."""
    if current().debug and dtype.is_signed and not _is_harmless(b, dtype):
        _check(
            _not(_wraps(a, b, dtype)),
            a,
            f"the quotient of {{}} and -1 does not fit into {dtype}",
            dtype,
        )
    return (build.divsi if dtype.is_signed else build.div)(a, _divisor(a, b, dtype))


def _is_below(remainder: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """Return whether a remainder says that the quotient rounded towards 0 is not rounded down: its
    sign is not that of the divisor."""
    zero = constant(0, dtype)
    differ = build.compare(build.SLT, build.xori(remainder, b), zero)
    return build.all_of([differ, _not(build.compare(build.EQ, remainder, zero))])


def _unless_zero(b: ir.Value, quotient: ir.Value, dtype: DataType) -> ir.Value:
    zero = constant(0, dtype)
    return build.select(build.compare(build.EQ, b, zero), zero, quotient)


def _divisor(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """The divisor, or 1 if a division by it has no value; it leaves the remainder 0, and the
    least integer as it is."""
    if _is_harmless(b, dtype):
        return b
    is_zero = build.compare(build.EQ, b, constant(0, dtype))
    if current().debug:
        _check(_not(is_zero), a, "integer division by zero: {} by 0", dtype)
    bad = build.ori(is_zero, _wraps(a, b, dtype)) if dtype.is_signed else is_zero
    return build.select(bad, constant(1, dtype), b)


def _wraps(a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """Return whether an operand is the least integer and the other one is -1."""
    least = build.compare(build.EQ, a, constant(-(1 << (dtype.bits - 1)), dtype))
    return build.all_of([least, build.compare(build.EQ, b, constant(-1, dtype))])


def _is_harmless(b: ir.Value, dtype: DataType) -> bool:
    """Return whether a divisor is a constant by which everything can be divided."""
    if isinstance(b, ir.BlockArgument) or b.owner.name != Arith.CONSTANT:
        return False
    number = ir.IntegerAttr(b.owner.attributes["value"]).value
    return number != 0 and (number != -1 or not dtype.is_signed)


def _not(condition: ir.Value) -> ir.Value:
    return build.xori(condition, constant(1, u1))


def _check(condition: ir.Value, operand: ir.Value, message: str, dtype: DataType) -> None:
    text = message if dtype.is_signed else message.replace("{}", "{u}")
    field.assert_(condition, text, [operand])
