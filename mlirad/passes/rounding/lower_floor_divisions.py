"""Quotients rounded down, by constants: shifts, and quotients of numbers that are not negative.

Before: `arith.floordivsi`, which upstream expands for divisors of any sign. After: by a power of 2,
an arithmetic shift; by another positive constant, `(x ^ s) / d ^ s`, where s is -1 where x is
negative, else 0: `~x` is `-1 - x`, which takes rounding down to rounding towards 0, and is never
negative. A remainder, `x - x // d * d`, of a power of two is then a mask to LLVM.
"""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.walk import before, constant_integer, operations

_NARROW, _RECIPROCAL_BITS = 8, 21


def lower_floor_divisions(root: ir.Operation) -> None:
    """Lower floor divisions of integers by positive constants."""
    for op in [op for op in operations(root) if op.name == Arith.FLOORDIVSI]:
        divisor, type_ = constant_integer(op.operands[1]), op.results[0].type
        if divisor is None or divisor < 1 or not isinstance(type_, ir.IntegerType):
            continue
        with before(op):
            value = _quotient(op.operands[0], divisor, type_)
        op.results[0].replace_all_uses_with(value)
        op.erase()


def _quotient(number: ir.Value, divisor: int, type_: ir.IntegerType) -> ir.Value:
    if divisor & (divisor - 1) == 0:
        width = b.number(divisor.bit_length() - 1, type_)
        return b.shrsi(number, width)
    if type_.width == _NARROW:
        return _narrow_quotient(number, divisor, type_)
    sign = b.shrsi(number, b.number(type_.width - 1, type_))
    positive = b.xori(number, sign)
    return b.xori(b.div(positive, b.number(divisor, type_)), sign)


def _narrow_quotient(number: ir.Value, divisor: int, type_: ir.IntegerType) -> ir.Value:
    """Divide a number of 8 bits in 32, by the reciprocal in 21 bits, which is exact: LLVM's code
    for vectors of AVX-512 never ends if a reversed loop divides in 8 bits."""
    wide = b.integer_type(32)
    reciprocal = (1 << _RECIPROCAL_BITS) // divisor + 1
    positive = b.add(b.extsi(number, wide), b.number(divisor << 7, wide))
    product = b.mul(positive, b.number(reciprocal, wide))
    quotient = b.shrsi(product, b.number(_RECIPROCAL_BITS, wide))
    return b.trunci(b.sub(quotient, b.number(1 << 7, wide)), type_)
