"""Scalar values of a kernel: Python's operators on them create ops, with Taichi's promotion and
division rules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mlirad.bindings import ir
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.builder import current, mlir_type
from mlirad.frontend.python.building.open_regions import refuse_use
from mlirad.frontend.python.values import arithmetic
from mlirad.frontend.python.values import integer_division as division
from mlirad.frontend.python.values.operators import Operators
from mlirad.frontend.python.values.overflow import report_overflow
from mlirad.frontend.python.values.python_numbers import number_constant, number_type
from mlirad.frontend.python.values.shifts import shift_bits
from mlirad.ir import build, typed_values
from mlirad.ir.ops import Math
from mlirad.types import DataType, i32, i64, promote, u1

if TYPE_CHECKING:
    from typing_extensions import TypeIs

COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Expr(Operators):
    """A scalar: its MLIR value, its type, and, if it counts a loop, the same number as an `index`
    value.

    Index arithmetic stays in `index`, so that a subscript `x[i - 1]` is affine in the loop's own
    variable.
    """

    __array_priority__ = 1000

    def __init__(self, value: ir.Value, dtype: DataType, index: ir.Value | None = None) -> None:
        self._value = value
        self.dtype = dtype
        self._index = index
        self._region = current().region
        self._origin = ir.Location.current

    def __repr__(self) -> str:
        return f"<{self.dtype} at run time>"

    def __str__(self) -> str:
        raise TaichiTypeError(
            "str() of a number that a launch computes: print(x) shows it, and so does an f-string "
            'in print, as in print(f"x: {x}")'
        )

    def __format__(self, _: str) -> str:
        return repr(self)

    def check_visible(self) -> None:
        """Raise TaichiCompilationError if the value cannot be seen from here."""
        if self._region.shut:
            refuse_use(self._region, self._origin, "value")

    @property
    def value(self) -> ir.Value:
        """The value. Raises TaichiCompilationError if it cannot be seen from here."""
        self.check_visible()
        return self._value

    @property
    def index(self) -> ir.Value | None:
        """The value as an `index`, or None. Raises like `value`."""
        self.check_visible()
        return self._index

    def __bool__(self) -> bool:
        raise TaichiTypeError(
            "Python code cannot branch on a value that is known only at run time; use if/while "
            "in a kernel, or ti.static on a constant; a function that a kernel calls needs @ti.func"
        )

    def __index__(self) -> int:
        raise TaichiTypeError(
            "expected a constant integer, got a value that is known only at run time"
        )

    def __iter__(self) -> Any:
        raise TaichiTypeError("a scalar cannot be unpacked or iterated over")

    def __getattr__(self, name: str) -> Any:
        from mlirad.frontend.python.values.other_names import OF_SCALARS, attribute_cure

        cure = attribute_cure(name, OF_SCALARS)
        raise AttributeError(f"a scalar of type {self.dtype} has no attribute '{name}'{cure}")

    def operate(self, function: Callable[[Any, Any], Any], left: object, right: object) -> Any:
        if is_scalar(left) and is_scalar(right):
            return _OPERATORS[function](left, right)
        return NotImplemented

    def __neg__(self) -> Expr:
        return negate(self)

    def __pos__(self) -> Expr:
        return self

    def __invert__(self) -> Expr:
        return bit_not(self)

    def __abs__(self) -> Expr:
        return absolute(self)

    def cast(self, dtype: DataType) -> Expr:
        """Convert to another type."""
        return cast(self, dtype)


Scalar = Expr | bool | int | float  # NumPy's scalars count as Python's


def is_scalar(value: object) -> TypeIs[Scalar]:
    """Return whether a value is a scalar of the language, constant or not."""
    return isinstance(value, Expr | bool | int | float | np.generic) or (
        isinstance(value, np.ndarray) and value.shape == ()
    )


def dtype_of(value: Scalar) -> DataType:
    """The type of a scalar; Python numbers take the default types."""
    if isinstance(value, Expr):
        return value.dtype
    return number_type(value)


def expression(value: Scalar) -> Expr:
    """Any scalar as an Expr; Python numbers become constants."""
    if isinstance(value, Expr):
        return value
    dtype = number_type(value)
    return Expr(number_constant(value, dtype), dtype)


def cast(value: Scalar, dtype: DataType) -> Expr:
    """Convert a scalar to a type, as C does; to `u1`, whether it is not zero."""
    if not isinstance(value, Expr):
        if not is_scalar(value):
            raise TaichiTypeError(f"a {type(value).__name__} cannot be converted to {dtype}")
        return Expr(number_constant(value, dtype), dtype)
    source = value.dtype
    if source == dtype:
        return value
    if dtype == u1:
        return comparison("!=")(value, 0.0 if source.is_float else 0)
    converted = typed_values.convert(value.value, source, dtype, mlir_type(dtype))
    return Expr(converted, dtype, value.index if dtype == i64 else None)


def as_index(value: Scalar) -> ir.Value:
    """A scalar integer as an `index` value."""
    if not isinstance(value, Expr):
        if isinstance(value, float):
            raise TaichiTypeError(f"an index must be an integer, not {value}")
        return build.index(operator.index(value))
    if value.index is not None:
        return value.index
    if value.dtype.is_float:
        raise TaichiTypeError(f"an index must be an integer, not {value.dtype}")
    cast_ = build.index_cast if value.dtype.is_signed else build.index_castui
    return cast_(value.value, build.index_type())


def from_index(index: ir.Value, dtype: DataType = i32) -> Expr:
    """An `index` value as a scalar integer."""
    return Expr(build.index_cast(index, mlir_type(dtype)), dtype, index)


def promote_operands(
    left: Scalar, right: Scalar, *, are_numbers: bool = False
) -> tuple[Expr, Expr, DataType]:
    """Two scalars in the type that both have together, and that type; if they `are_numbers`,
    booleans as integers of the default type."""
    dtype = promote(dtype_of(left), dtype_of(right))
    if are_numbers and dtype == u1:
        dtype = current().default_ip
    return cast(left, dtype), cast(right, dtype), dtype


def _index_of(value: Scalar) -> ir.Value | None:
    if isinstance(value, Expr):
        return value.index
    return build.index(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _both_index(left: Scalar, right: Scalar) -> tuple[ir.Value, ir.Value] | None:
    """Return both operands as `index` values, if at least one counts a loop and neither costs a
    conversion."""
    if not any(isinstance(v, Expr) and v.index is not None for v in (left, right)):
        return None
    pair = _index_of(left), _index_of(right)
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


def calculation(symbol: str) -> Callable[[Scalar, Scalar], Expr]:
    """`+`, `-` or `*` on two scalars."""

    def apply(left: Scalar, right: Scalar) -> Expr:
        indices = _both_index(left, right)
        a, b, dtype = promote_operands(left, right, are_numbers=True)
        value = arithmetic.calculate(symbol, a.value, b.value, dtype)
        if indices is None or dtype.is_float:
            return Expr(value, dtype)
        return Expr(value, dtype, arithmetic.combine(symbol, *indices))

    return apply


def divide(left: Scalar, right: Scalar) -> Expr:
    """True division: integers are divided as floats of the default type."""
    a, b, dtype = promote_operands(left, right, are_numbers=True)
    if not dtype.is_float:
        dtype = current().default_fp
        a, b = cast(a, dtype), cast(b, dtype)
    return Expr(build.divf(a.value, b.value), dtype)


def floor_divide(left: Scalar, right: Scalar) -> Expr:
    """Division rounded towards minus infinity, as in Python; of integers by 0, 0."""
    a, b, dtype = promote_operands(left, right, are_numbers=True)
    return Expr(arithmetic.floor_quotient(a.value, b.value, dtype), dtype)


def modulo(left: Scalar, right: Scalar) -> Expr:
    """Remainder with the sign of the divisor, as in Python; of integers by 0, 0."""
    a, b, dtype = promote_operands(left, right, are_numbers=True)
    if dtype.is_integer:
        return Expr(division.floor_remainder(a.value, b.value, dtype), dtype)
    return calculation("-")(a, calculation("*")(floor_divide(a, b), b))


def power(left: Scalar, right: Scalar) -> Expr:
    """`left ** right`; small constant integer exponents become products."""
    exponent = right if isinstance(right, int | float) else None
    if exponent is not None and exponent == int(exponent) and abs(exponent) <= 32:
        base = expression(left)
        if isinstance(right, float) and not base.dtype.is_float:
            base = cast(base, current().default_fp)
        if exponent < 0 and base.dtype.is_integer:
            raise TaichiTypeError("an integer to a negative power")
        product = _product(base, abs(int(exponent)))
        return divide(1, product) if exponent < 0 else product
    a, b, dtype = promote_operands(left, right, are_numbers=True)
    if dtype.is_integer:
        return Expr(division.power(a.value, b.value, dtype), dtype)
    return Expr(build.make(Math.POWF, mlir_type(dtype), [a.value, b.value]), dtype)


def _product(base: Expr, exponent: int) -> Expr:
    multiply = calculation("*")
    result: Expr | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else multiply(result, base)
        exponent >>= 1
        if exponent:
            base = multiply(base, base)
    return cast(1, base.dtype) if result is None else result


def bitwise(symbol: str) -> Callable[[Scalar, Scalar], Expr]:
    """`&`, `|` or `^` on two integers."""

    def apply(left: Scalar, right: Scalar) -> Expr:
        _check_integers(symbol, left, right)
        a, b, dtype = promote_operands(left, right)
        return Expr(arithmetic.combine(symbol, a.value, b.value), dtype)

    return apply


def shift(symbol: str) -> Callable[[Scalar, Scalar], Expr]:
    """`<<` or `>>` on two integers, in the type of the left one."""

    def apply(left: Scalar, right: Scalar) -> Expr:
        _check_integers(symbol, left, right)
        dtype = dtype_of(left)
        a, count = cast(left, dtype).value, cast(right, dtype).value
        value = shift_bits(symbol, a, count, dtype)
        if symbol == "<<":
            report_overflow(symbol, a, count, value, dtype)
        return Expr(value, dtype)

    return apply


def _check_integers(symbol: str, left: Scalar, right: Scalar) -> None:
    types = dtype_of(left), dtype_of(right)
    if any(dtype.is_float for dtype in types):
        raise TaichiTypeError(
            f"unsupported operand type(s) for '{symbol}': '{types[0]}' and '{types[1]}': "
            "expected integers"
        )


def comparison(symbol: str) -> Callable[[Scalar, Scalar], Any]:
    """A comparison of two scalars."""

    def apply(left: Scalar, right: Scalar) -> Any:
        if not isinstance(left, Expr) and not isinstance(right, Expr):
            return COMPARISONS[symbol](left, right)
        indices = _both_index(left, right)
        if indices is not None:
            return Expr(typed_values.compare(symbol, *indices, i64), u1)
        a, b, dtype = promote_operands(left, right)
        return Expr(typed_values.compare(symbol, a.value, b.value, dtype), u1)

    return apply


def negate(value: Expr) -> Expr:
    """`-value`, of its type; of an unsigned integer, its complement to 2ⁿ, which is no overflow."""
    return Expr(arithmetic.negate(value.value, value.dtype), value.dtype)


def bit_not(value: Expr) -> Expr:
    """`~value`. Raises TaichiTypeError for a float."""
    if value.dtype.is_float:
        raise TaichiTypeError(f"'~' takes integral inputs only, got {value.dtype}")
    return bitwise("^")(value, cast(-1 if value.dtype != u1 else True, value.dtype))


def absolute(value: Expr) -> Expr:
    """`abs(value)`."""
    if value.dtype.is_integer and not value.dtype.is_signed:
        return value
    return Expr(arithmetic.absolute(value.value, value.dtype), value.dtype)


def truth(value: Scalar) -> Any:
    """A condition: a Python bool if it is constant, else an Expr of type `u1`."""
    if isinstance(value, Expr):
        return cast(value, u1)
    if not is_scalar(value):
        actual, cure = type(value).__name__, "x[i] is a scalar"
        if hasattr(value, "entries"):
            actual, cure = "a vector or matrix", "(a == b).all() and (a > b).any() are scalars"
        raise TaichiTypeError(f"expected a scalar as the condition, got {actual}: {cure}")
    return bool(value)


def logical_not(value: Scalar) -> Any:
    condition = truth(value)
    return not condition if isinstance(condition, bool) else bit_not(condition)


def select(condition: Scalar, left: Scalar, right: Scalar) -> Expr:
    """`left` if the condition holds, else `right`; both are computed."""
    test = truth(condition)
    a, b, dtype = promote_operands(left, right)
    if isinstance(test, bool):
        return a if test else b
    return Expr(build.select(test.value, a.value, b.value), dtype)


_OPERATORS: dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.add: calculation("+"),
    operator.sub: calculation("-"),
    operator.mul: calculation("*"),
    operator.truediv: divide,
    operator.floordiv: floor_divide,
    operator.mod: modulo,
    operator.pow: power,
    operator.and_: bitwise("&"),
    operator.or_: bitwise("|"),
    operator.xor: bitwise("^"),
    operator.lshift: shift("<<"),
    operator.rshift: shift(">>"),
    **{function: comparison(symbol) for symbol, function in COMPARISONS.items()},
}
