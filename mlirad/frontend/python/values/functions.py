"""Functions of scalars, elementwise on vectors and matrices, the same inside kernels and in Python
scope."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import current, in_kernel, mlir_type
from mlirad.frontend.python.values import integer_division as division
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.elementary import *  # noqa: F403 - part of the namespace
from mlirad.frontend.python.values.elementary import cos, log, sqrt
from mlirad.frontend.python.values.float_functions import map_scalars, on_floats
from mlirad.frontend.python.values.matrix_operators import Elementwise, Operand
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.ir import build
from mlirad.ir.elementary.function import Function
from mlirad.ir.elementary.operators import ROUNDINGS
from mlirad.ir.ops import Math
from mlirad.types import DataType, TypeLike, promote, resolve, u1


def _rounding(row: Function) -> Callable[..., Any]:
    function = on_floats(row)

    def apply(value: Operand, dtype: TypeLike | None = None) -> Any:
        rounded = function(value)
        return rounded if dtype is None else cast(rounded, dtype)

    apply.__name__ = row.name
    apply.__doc__ = (
        f"{row.sentence}, elementwise. With `dtype`, the result is converted to that type."
    )
    return apply


ceil, floor, round, _, trunc = map(_rounding, ROUNDINGS)


def zero(value: Operand) -> Any:
    """Return zero, in the type and shape of a number, a vector or a matrix."""
    return map_scalars(lambda v: ex.cast(0, v.dtype) if isinstance(v, Expr) else type(v)(0), value)


def one(value: Operand) -> Any:
    """Return one, in the type and shape of a number, a vector or a matrix: all entries are 1."""
    return map_scalars(lambda v: ex.cast(1, v.dtype) if isinstance(v, Expr) else type(v)(1), value)


def abs(value: Operand) -> Any:
    """Return the absolute value of integers or floats, elementwise. Its derivative at 0 is 0."""
    return map_scalars(lambda v: ex.absolute(v) if isinstance(v, Expr) else v.__abs__(), value)


def pow(base: Scalar | Elementwise, exponent: Scalar | Elementwise) -> Any:
    """Return `base ** exponent`, elementwise.

    In kernels, integers give an integer (`2 ** -1` is 0), and a negative base with a fractional
    exponent gives NaN.
    """
    return base**exponent


def as_floats(value: Operand) -> Any:
    """Integers, in a kernel, as floats of the default type, elementwise: unsigned ones have no
    differences below 0. Other numbers as they are."""

    def scalar(number: Scalar) -> Any:
        is_integer = isinstance(number, Expr) and number.dtype.is_integer
        return ex.cast(number, current().default_fp) if is_integer else number

    return map_scalars(scalar, value)


def cast(value: Operand, dtype: TypeLike) -> Any:
    """Convert to a scalar type, elementwise. Floats are truncated towards 0 for integer types; for
    u1 every number except 0 gives 1.

    If the type cannot hold the value, the result is unspecified in kernels. In Python it raises
    OverflowError, and ValueError for NaN.
    """
    return map_scalars(lambda v: _cast(v, dtype), value)


def _cast(value: Scalar, dtype: TypeLike) -> Any:
    if in_kernel():
        return ex.cast(value, resolve(dtype, current().default_fp, current().default_ip))
    kind = resolve(dtype)
    return kind.numpy.type(value).item()


def bit_cast(value: Scalar, dtype: DataType) -> Any:
    """Reinterpret the bits of a number as another type, in a kernel. Raises TaichiTypeError if the
    types differ in size."""
    source = ex.expression(value)
    if source.dtype.bits != dtype.bits:
        raise TaichiTypeError(f"bit_cast from {source.dtype} to {dtype}: sizes differ")
    return Expr(build.bitcast(source.value, mlir_type(dtype)), dtype)


def _extremum(symbol: str, python: Callable[..., Any]) -> Callable[[Scalar, Scalar], Scalar]:
    compare = ex.comparison(symbol)

    def apply(left: Scalar, right: Scalar) -> Any:
        if not isinstance(left, Expr) and not isinstance(right, Expr):
            return python(left, right)
        dtype = promote(ex.dtype_of(left), ex.dtype_of(right))
        a, b = ex.cast(left, dtype), ex.cast(right, dtype)
        if dtype.is_float:  # a tie's derivative follows the select: to the second operand
            return ex.select(compare(a, b), a, b)
        name = ("max" if symbol == ">" else "min") + ("si" if dtype.is_signed else "ui")
        return Expr(build.make(f"arith.{name}", mlir_type(dtype), [a.value, b.value]), dtype)

    return apply


_max, _min = _extremum(">", max), _extremum("<", min)


def _pairwise(function: Callable[[Scalar, Scalar], Scalar], arguments: tuple[Operand, ...]) -> Any:
    if len(arguments) == 1 and isinstance(arguments[0], Elementwise):
        return reduce(function, arguments[0].entries)
    if len(arguments) == 1 and isinstance(arguments[0], list | tuple):
        arguments = tuple(arguments[0])
    return reduce(lambda a, b: map_scalars(function, a, b), arguments)


def max(first: Operand, *more: Operand) -> Any:
    """Return the largest argument, elementwise, in the common type, or the largest entry of a
    single vector, matrix or list. In a tie, the derivative goes to the second operand."""
    return _pairwise(_max, (first, *more))


def min(first: Operand, *more: Operand) -> Any:
    """Return the smallest argument, elementwise, in the common type, or the smallest entry of a
    single vector, matrix or list. In a tie, the derivative goes to the second operand."""
    return _pairwise(_min, (first, *more))


def all(values: Elementwise | Iterable[Scalar]) -> Any:
    """Return whether no entry is zero."""
    if isinstance(values, Elementwise):
        return values.all()
    return reduce(lambda a, b: a & b, [ex.truth(v) for v in values], True)


def any(values: Elementwise | Iterable[Scalar]) -> Any:
    """Return whether some entry is not zero."""
    if isinstance(values, Elementwise):
        return values.any()
    return reduce(lambda a, b: a | b, [ex.truth(v) for v in values], False)


def select(condition: Operand, left: Operand, right: Operand) -> Any:
    """Return `left` where the condition is nonzero and `right` elsewhere, elementwise, in the
    common type. Both operands are evaluated."""

    def scalar(test: Scalar, a: Scalar, b: Scalar) -> Any:
        if builtins.any(isinstance(v, Expr) for v in (test, a, b)):
            return ex.select(test, a, b)
        return a if test else b

    return map_scalars(scalar, condition, left, right)


def logical_not(value: Operand) -> Any:
    """Return `not value` as a boolean, elementwise."""
    return map_scalars(ex.logical_not, value)


def bit_not(value: Expr | int | Elementwise) -> Any:
    """Return `~value`, elementwise. Raises TaichiTypeError for floats in a kernel."""
    return ~value


def logical_and(left: Operand, right: Operand) -> Any:
    """Return `left and right` as a boolean, elementwise. Both operands are evaluated."""
    return map_scalars(lambda a, b: ex.truth(a) & ex.truth(b), left, right)


def logical_or(left: Operand, right: Operand) -> Any:
    """Return `left or right` as a boolean, elementwise. Both operands are evaluated."""
    return map_scalars(lambda a, b: ex.truth(a) | ex.truth(b), left, right)


def bit_shr(left: Operand, right: Operand) -> Any:
    """Shift integers to the right, elementwise, in a kernel. Zeros are shifted in, also for
    negative numbers."""
    return map_scalars(_bit_shr, left, right)


def _bit_shr(left: Scalar, right: Scalar) -> Expr:
    value = ex.expression(left)
    unsigned = Expr(value.value, DataType(f"u{value.dtype.bits}", "u", value.dtype.bits))
    return Expr((unsigned >> right).value, value.dtype)


def raw_div(left: Operand, right: Operand) -> Any:
    """Divide as C does, elementwise, in kernels: integers give an integer, truncated towards zero,
    and 0 if the divisor is 0."""
    return map_scalars(_raw("divf", division.raw_quotient), left, right)


def raw_mod(left: Operand, right: Operand) -> Any:
    """Return the remainder as C does, elementwise, in kernels: it has the sign of the dividend, and
    is 0 for integers if the divisor is 0."""
    return map_scalars(_raw("remf", division.raw_remainder), left, right)


def _raw(
    float_name: str, integer: Callable[[ir.Value, ir.Value, DataType], ir.Value]
) -> Callable[[Scalar, Scalar], Expr]:
    def apply(left: Scalar, right: Scalar) -> Any:
        dtype = promote(ex.dtype_of(left), ex.dtype_of(right))
        a, b = ex.cast(left, dtype).value, ex.cast(right, dtype).value
        if dtype.is_integer:
            return Expr(integer(a, b, dtype), dtype)
        return Expr(build.make(f"arith.{float_name}", mlir_type(dtype), [a, b]), dtype)

    return apply


def clz(value: Operand) -> Any:
    """Count the zero bits above the highest one bit of integers, elementwise, in kernels. Raises
    TaichiTypeError for floats."""
    return map_scalars(lambda v: _bits(Math.CTLZ, v), value)


def popcnt(value: Operand) -> Any:
    """Count the one bits of integers, elementwise, in kernels. Raises TaichiTypeError for
    floats."""
    return map_scalars(lambda v: _bits(Math.CTPOP, v), value)


def _bits(name: str, value: Scalar) -> Expr:
    operand = ex.expression(value)
    if operand.dtype.is_float:
        raise TaichiTypeError(
            f"{name.split('.')[1]} takes integral inputs only, got {operand.dtype}"
        )
    return ex.cast(
        Expr(build.make(name, mlir_type(operand.dtype), [operand.value]), operand.dtype),
        current().default_ip,
    )


def isnan(value: Operand) -> Any:
    """Return whether a number is NaN, elementwise. Integers never are."""
    return map_scalars(
        _test_of_floats(
            math.isnan, lambda v: Expr(build.make(Math.ISNAN, mlir_type(u1), [v.value]), u1)
        ),
        value,
    )


def isinf(value: Operand) -> Any:
    """Return whether a number is infinite, elementwise. Integers never are."""
    return map_scalars(
        _test_of_floats(math.isinf, lambda v: ex.comparison("==")(ex.absolute(v), math.inf)), value
    )


def _test_of_floats(python: Callable[[Any], bool], test: Callable[[Expr], Expr]) -> Any:
    def apply(value: Scalar) -> Any:
        if not isinstance(value, Expr):
            return python(value)
        return test(value) if value.dtype.is_float else ex.cast(False, u1)

    return apply


def sign(value: Operand) -> Any:
    """Return -1, 0 or 1 as a float, elementwise. The derivative is 0."""
    return map_scalars(lambda v: select(v > 0, 1.0, select(v < 0, -1.0, 0.0)), value)


def floor_remainder(value: Scalar | Elementwise, modulus: Scalar | Elementwise) -> Any:
    """`value % modulus`, with the sign of the modulus."""
    return value % modulus


def random(dtype: TypeLike = float) -> Any:
    """Return a random number of a scalar type, in a kernel: uniform in [0, 1) for floats, uniform
    over all values for integers.

    The generator is counter-based: the reverse pass draws the same numbers again. `random_seed` of
    `ti.init` chooses the sequence. Raises TaichiTypeError in Python.
    """
    if not in_kernel():
        raise TaichiTypeError("ti.random() can only be called inside a kernel")
    builder = current()
    kind = resolve(dtype, builder.default_fp, builder.default_ip)
    return Expr(effects.random(mlir_type(kind), *builder.next_draw()), kind)


def randn(dtype: TypeLike = float) -> Any:
    """Return a random float from the standard normal distribution, in a kernel, by the method of
    Box and Muller (1958); see `random`. Raises TaichiTypeError for integers, and in Python."""
    if in_kernel() and not resolve(dtype, current().default_fp, current().default_ip).is_float:
        raise TaichiTypeError("ti.randn draws floats: use ti.cast to convert to an integer")
    first, second = random(dtype), random(dtype)
    return sqrt(-2.0 * log(1.0 - first)) * cos(2.0 * math.pi * second)


def python_value(value: object) -> Any:
    """NumPy scalars as Python numbers; everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
