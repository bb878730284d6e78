"""`tanh` of f32, and `exp` and `log1p` where no vector library has them, as polynomials: LLVM makes
vectors of these, and keeps them in registers.

Before: `math.exp`, `math.tanh`, `math.log1p` of f32 or of vectors of it. After: arithmetic without
fast-math flags, the same for scalars and vectors. `tools/fit_elementary.py` fits the coefficients,
and has the formulas. Results are less than 3 units in the last place off; infinities and NaNs are
those of C. libmvec's `exp` and `log1p` take as long as these, its `tanh` 2.1 times (AVX2).

Assumes fused multiply-adds, and that nothing reorders sums behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.coefficients import EXP, LOG1P
from mlirad.ir.ops import Math
from mlirad.ir.walk import before, operations

_LN2_HIGH, _LN2_LOW, _LOG2E = 0.693359375, -2.12194440e-4, 1.44269504  # Cody and Waite 1980
_LEAST, _MOST = -104.5, 89.0  # exp of less is 0, and of more is infinite
_TANH_END = 10.0  # tanh of more is 1
_MAGIC = 12582912.0  # 1.5 2^23: the last bits of a sum with it are an integer
_MAGIC_BITS, _BIAS, _MANTISSA = 0x4B400000, 127, 23
_ROOT_BITS = 0x3F3504F3  # of the square root of 1/2


def expand_elementary(root: ir.Operation, *, library: bool = False) -> None:
    """Replace elementary functions of f32 by arithmetic. `library`: only those that a vector
    library computes more slowly."""
    expanded = {Math.TANH} if library else _EXPANSIONS.keys()
    for op in [op for op in operations(root) if op.name in expanded]:
        (value,) = op.operands
        if isinstance(b.element_of(value.type), ir.F32Type):
            with before(op):
                op.results[0].replace_all_uses_with(_EXPANSIONS[op.name](value))
            op.erase()


def _exp(value: ir.Value) -> ir.Value:
    type_ = value.type
    value = _at_most(value, _MOST)
    least = b.number(_LEAST, type_)
    value = b.select(b.compare_floats(b.OLT, value, least), least, value)
    exponent, more = _power_of_e(value)
    half = b.shrsi(exponent, b.number(1, exponent.type))
    scale, scale_again = _power_of_2(half, type_), _power_of_2(b.sub(exponent, half), type_)
    return b.mulf(b.fma(scale, more, scale), scale_again)


def _tanh(value: ir.Value) -> ir.Value:
    type_ = value.type
    magnitude = _at_most(b.absf(value), _TANH_END)
    exponent, more = _power_of_e(b.addf(magnitude, magnitude))
    scale = _power_of_2(exponent, type_)
    less_one = b.fma(scale, more, b.subf(scale, b.number(1.0, type_)))
    quotient = b.divf(less_one, b.addf(less_one, b.number(2.0, type_)))
    return b.make(Math.COPYSIGN, type_, [quotient, value])


def _log1p(value: ir.Value) -> ir.Value:
    type_ = value.type
    unit, word = b.number(1.0, type_), b.with_element(type_, b.integer_type(32))
    bits = b.sub(b.bitcast(b.addf(value, unit), word), b.number(_ROOT_BITS, word))
    exponent = b.shrsi(bits, b.number(_MANTISSA, word))
    half = b.shrsi(exponent, b.number(1, word))
    zero = b.number(0, word)
    scale, scale_again = (
        _power_of_2(b.sub(zero, power), type_) for power in (half, b.sub(exponent, half))
    )
    offset = b.fma(scale, scale_again, b.number(-1.0, type_))
    f = b.fma(b.mulf(value, scale), scale_again, offset)
    k, square = b.sitofp(exponent, type_), b.mulf(f, f)
    low = b.mulf(k, b.number(_LN2_LOW, type_))
    tail = b.fma(b.mulf(_polynomial(f, LOG1P), f), square, low)
    tail = b.fma(square, b.number(-0.5, type_), tail)
    result = b.fma(k, b.number(_LN2_HIGH, type_), b.addf(f, tail))
    infinity = b.number(float("inf"), type_)
    result = b.select(b.compare_floats(b.OLT, value, infinity), result, value)
    minus_one = b.number(-1.0, type_)
    pole = b.select(
        b.compare_floats(b.OEQ, value, minus_one),
        b.number(-float("inf"), type_),
        b.number(float("nan"), type_),
    )
    return b.select(b.compare_floats(b.OGT, value, minus_one), result, pole)


_EXPANSIONS: dict[str, Callable[[ir.Value], ir.Value]] = {
    Math.EXP: _exp,
    Math.TANH: _tanh,
    Math.LOG1P: _log1p,
}


def _at_most(value: ir.Value, most: float) -> ir.Value:
    """The smaller of two numbers; NaN if the first is."""
    limit = b.number(most, value.type)
    return b.select(b.compare_floats(b.OGT, value, limit), limit, value)


def _power_of_e(value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """`n` and `exp(r) - 1` with `value = n ln 2 + r`."""
    type_ = value.type
    word = b.with_element(type_, b.integer_type(32))
    magic = b.number(_MAGIC, type_)
    rounded = b.fma(value, b.number(_LOG2E, type_), magic)
    exponent = b.sub(b.bitcast(rounded, word), b.number(_MAGIC_BITS, word))
    n = b.subf(rounded, magic)
    r = b.fma(n, b.number(-_LN2_HIGH, type_), value)
    r = b.fma(n, b.number(-_LN2_LOW, type_), r)
    return exponent, b.fma(_polynomial(r, EXP), b.mulf(r, r), r)


def _power_of_2(exponent: ir.Value, type_: ir.Type) -> ir.Value:
    """`2^n` for -127 < n < 128."""
    word = exponent.type
    biased = b.add(exponent, b.number(_BIAS, word))
    return b.bitcast(b.shli(biased, b.number(_MANTISSA, word)), type_)


def _polynomial(x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A polynomial by Horner's rule, lowest degree first."""
    total = b.number(coefficients[-1], x.type)
    for coefficient in coefficients[-2::-1]:
        total = b.fma(total, x, b.number(coefficient, x.type))
    return total
