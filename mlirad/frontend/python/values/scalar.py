"""Scalar values of a kernel: Python's operators on them create ops, with Taichi's promotion and
division rules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mlirad.bindings import ir
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.builder import (
    constant,
    current,
    emit,
    i1_type,
    index_constant,
    index_type,
    mlir_type,
    predicate,
)
from mlirad.frontend.python.building.open_regions import refuse_use
from mlirad.frontend.python.values import integer_division as division
from mlirad.frontend.python.values.overflow import report_overflow
from mlirad.frontend.python.values.shifts import shifted
from mlirad.types import DataType, i32, i64, promote, u1

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# Predicates of arith.cmpi (signed, unsigned) and arith.cmpf.
_COMPARE = {
    "==": (0, 0, 1),
    "!=": (1, 1, 13),
    "<": (2, 6, 4),
    "<=": (3, 7, 5),
    ">": (4, 8, 2),
    ">=": (5, 9, 3),
}
_PYTHON = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Expr:
    """A scalar: its MLIR value, its type, and, where it counts a loop, the same number as an
    `index` value.

    Index arithmetic stays in `index`, so that a subscript `x[i - 1]` is affine in the loop's own
    variable.
    """

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, value: ir.Value, dtype: DataType, index: ir.Value | None = None) -> None:
        self._value = value
        self.dtype = dtype
        self._index = index
        self._region = current().region
        self._made = ir.Location.current

    def __repr__(self) -> str:
        return f"<{self.dtype} at run time>"

    def check_visible(self) -> None:
        """Raise TaichiCompilationError where the value cannot be seen from here."""
        if self._region.shut:
            refuse_use(self._region, self._made, "value")

    @property
    def value(self) -> ir.Value:
        """The value, where it can be seen."""
        self.check_visible()
        return self._value

    @property
    def index(self) -> ir.Value | None:
        """The value as an `index`, where it counts a loop and can be seen."""
        self.check_visible()
        return self._index

    def __bool__(self) -> bool:
        raise TaichiTypeError(
            "the truth of a value that is known only at run time cannot steer Python code; use "
            "if/while in a kernel, or ti.static on a constant"
        )

    def __index__(self) -> int:
        raise TaichiTypeError(
            "a value that is known only at run time is used where a constant integer is needed"
        )

    def __iter__(self) -> Any:
        raise TaichiTypeError("a scalar cannot be unpacked or iterated over")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a scalar of type {self.dtype} has no attribute '{name}'")

    def __add__(self, other: Scalar) -> Expr:
        return _elementwise(arithmetic("+"), self, other)

    def __radd__(self, other: Scalar) -> Expr:
        return _elementwise(arithmetic("+"), other, self)

    def __sub__(self, other: Scalar) -> Expr:
        return _elementwise(arithmetic("-"), self, other)

    def __rsub__(self, other: Scalar) -> Expr:
        return _elementwise(arithmetic("-"), other, self)

    def __mul__(self, other: Scalar) -> Expr:
        return _elementwise(arithmetic("*"), self, other)

    def __rmul__(self, other: Scalar) -> Expr:
        return _elementwise(arithmetic("*"), other, self)

    def __truediv__(self, other: Scalar) -> Expr:
        return _elementwise(divide, self, other)

    def __rtruediv__(self, other: Scalar) -> Expr:
        return _elementwise(divide, other, self)

    def __floordiv__(self, other: Scalar) -> Expr:
        return _elementwise(floor_divide, self, other)

    def __rfloordiv__(self, other: Scalar) -> Expr:
        return _elementwise(floor_divide, other, self)

    def __mod__(self, other: Scalar) -> Expr:
        return _elementwise(modulo, self, other)

    def __rmod__(self, other: Scalar) -> Expr:
        return _elementwise(modulo, other, self)

    def __pow__(self, other: Scalar) -> Expr:
        return _elementwise(power, self, other)

    def __rpow__(self, other: Scalar) -> Expr:
        return _elementwise(power, other, self)

    def __and__(self, other: Scalar) -> Expr:
        return _elementwise(bitwise("and"), self, other)

    def __rand__(self, other: Scalar) -> Expr:
        return _elementwise(bitwise("and"), other, self)

    def __or__(self, other: Scalar) -> Expr:
        return _elementwise(bitwise("or"), self, other)

    def __ror__(self, other: Scalar) -> Expr:
        return _elementwise(bitwise("or"), other, self)

    def __xor__(self, other: Scalar) -> Expr:
        return _elementwise(bitwise("xor"), self, other)

    def __rxor__(self, other: Scalar) -> Expr:
        return _elementwise(bitwise("xor"), other, self)

    def __lshift__(self, other: Scalar) -> Expr:
        return _elementwise(shift("<<"), self, other)

    def __rlshift__(self, other: Scalar) -> Expr:
        return _elementwise(shift("<<"), other, self)

    def __rshift__(self, other: Scalar) -> Expr:
        return _elementwise(shift(">>"), self, other)

    def __rrshift__(self, other: Scalar) -> Expr:
        return _elementwise(shift(">>"), other, self)

    def __eq__(self, other: object) -> Any:
        return _elementwise(comparison("=="), self, other)

    def __ne__(self, other: object) -> Any:
        return _elementwise(comparison("!="), self, other)

    def __lt__(self, other: Scalar) -> Expr:
        return _elementwise(comparison("<"), self, other)

    def __le__(self, other: Scalar) -> Expr:
        return _elementwise(comparison("<="), self, other)

    def __gt__(self, other: Scalar) -> Expr:
        return _elementwise(comparison(">"), self, other)

    def __ge__(self, other: Scalar) -> Expr:
        return _elementwise(comparison(">="), self, other)

    def __neg__(self) -> Expr:
        return negate(self)

    def __pos__(self) -> Expr:
        return self

    def __invert__(self) -> Expr:
        return bit_not(self)

    def __abs__(self) -> Expr:
        return absolute(self)

    def cast(self, dtype: DataType) -> Expr:
        """The same number in another type."""
        return cast(self, dtype)


Scalar = Expr | bool | int | float  # NumPy's scalars count as Python's


def is_scalar(value: object) -> TypeIs[Scalar]:
    """Whether a value is a scalar of the language, constant or not."""
    return isinstance(value, Expr | bool | int | float | np.generic) or (
        isinstance(value, np.ndarray) and value.shape == ()
    )


def dtype_of(value: Scalar) -> DataType:
    """The type of a scalar; Python numbers take the default types."""
    if isinstance(value, Expr):
        return value.dtype
    if isinstance(value, bool):
        return u1
    if isinstance(value, int):
        ip = current().default_ip
        if not in_range(value, ip):
            raise TaichiTypeError(
                f"Constant {value} has exceeded the range of default_ip: {ip}; ti.i64(...) or "
                "ti.u64(...) gives it a wider type"
            )
        return ip
    if isinstance(value, float):
        return current().default_fp
    if hasattr(value, "item"):
        return dtype_of(value.item())
    refuse_whole(value)
    raise TaichiTypeError(f"{type(value).__name__} is not a value of a kernel")


def refuse_whole(*values: object) -> None:
    """Raise TaichiTypeError where one is a whole field or array."""
    for value in values:
        if hasattr(type(value), "__kernel_ref__") or hasattr(value, "element_shape"):
            raise TaichiTypeError(
                "a whole field or array stands where a number is needed: its elements are x[i], or "
                "x[None] where it has no axes"
            )


def in_range(value: int, dtype: DataType) -> bool:
    """Whether an integer type has a number."""
    low = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    return low <= value < 1 << (dtype.bits - dtype.is_signed)


def expression(value: Scalar) -> Expr:
    """Any scalar as an Expr; Python numbers become constants."""
    if isinstance(value, Expr):
        return value
    dtype = dtype_of(value)
    return Expr(
        constant(value if isinstance(value, bool | int | float) else value.item(), dtype), dtype
    )


def _elementwise(function: Callable[[Scalar, Scalar], Expr], left: object, right: object) -> Any:
    if is_scalar(left) and is_scalar(right):
        return function(left, right)
    return NotImplemented


def cast(value: Scalar, dtype: DataType) -> Expr:
    """Convert a scalar to a type, as C does; to `u1`, whether it is not zero."""
    if not isinstance(value, Expr):
        if not is_scalar(value):
            raise TaichiTypeError(f"a {type(value).__name__} cannot be converted to {dtype}")
        if isinstance(value, int) and dtype.is_integer and not -(1 << 63) <= value < 1 << 64:
            raise TaichiTypeError(
                f"Constant {value} has exceeded the range of specified dtype: {dtype}"
            )
        raw = value if isinstance(value, bool | int | float) else value.item()
        if dtype.is_float or isinstance(raw, bool | int):
            return Expr(constant(bool(raw) if dtype == u1 else raw, dtype), dtype)
        return Expr(constant(bool(raw) if dtype == u1 else int(raw), dtype), dtype)
    source = value.dtype
    if source == dtype:
        return value
    if dtype == u1:
        return comparison("!=")(value, 0.0 if source.is_float else 0)
    target = mlir_type(dtype)
    if source.is_float and dtype.is_float:
        name = "arith.extf" if dtype.bits > source.bits else "arith.truncf"
    elif source.is_float:
        name = "arith.fptosi" if dtype.is_signed else "arith.fptoui"
    elif dtype.is_float:
        name = "arith.sitofp" if source.is_signed else "arith.uitofp"
    elif dtype.bits == source.bits:
        return Expr(value.value, dtype)
    elif dtype.bits < source.bits:
        name = "arith.trunci"
    else:
        name = "arith.extsi" if source.is_signed else "arith.extui"
    return Expr(emit(name, target, [value.value]), dtype, value.index if dtype == i64 else None)


def as_index(value: Scalar) -> ir.Value:
    """A scalar integer as an `index` value."""
    if not isinstance(value, Expr):
        if isinstance(value, float):
            raise TaichiTypeError(f"an index must be an integer, not {value}")
        return index_constant(operator.index(value))
    if value.index is not None:
        return value.index
    if value.dtype.is_float:
        raise TaichiTypeError(f"an index must be an integer, not {value.dtype}")
    name = "arith.index_cast" if value.dtype.is_signed else "arith.index_castui"
    return emit(name, index_type(), [value.value])


def from_index(index: ir.Value, dtype: DataType = i32) -> Expr:
    """An `index` value as a scalar integer."""
    return Expr(emit("arith.index_cast", mlir_type(dtype), [index]), dtype, index)


def _joined(left: Scalar, right: Scalar) -> tuple[Expr, Expr, DataType]:
    dtype = promote(dtype_of(left), dtype_of(right))
    if dtype == u1:
        dtype = current().default_ip
    return cast(left, dtype), cast(right, dtype), dtype


def _index_of(value: Scalar) -> ir.Value | None:
    if isinstance(value, Expr):
        return value.index
    return index_constant(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _both_index(left: Scalar, right: Scalar) -> tuple[ir.Value, ir.Value] | None:
    """Both operands as `index` values, where at least one counts a loop and neither costs a
    conversion."""
    if not any(isinstance(v, Expr) and v.index is not None for v in (left, right)):
        return None
    pair = _index_of(left), _index_of(right)
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


_OPS = {"+": ("addf", "addi"), "-": ("subf", "subi"), "*": ("mulf", "muli")}


def arithmetic(symbol: str) -> Callable[[Scalar, Scalar], Expr]:
    """`+`, `-` or `*` on two scalars."""
    float_name, int_name = _OPS[symbol]

    def apply(left: Scalar, right: Scalar) -> Expr:
        indices = _both_index(left, right)
        a, b, dtype = _joined(left, right)
        name = f"arith.{float_name if dtype.is_float else int_name}"
        value = emit(name, mlir_type(dtype), [a.value, b.value])
        report_overflow(symbol, a.value, b.value, value, dtype)
        if indices is None or dtype.is_float:
            return Expr(value, dtype)
        return Expr(value, dtype, emit(f"arith.{int_name}", index_type(), indices))

    return apply


def divide(left: Scalar, right: Scalar) -> Expr:
    """True division: integers are divided as floats of the default type."""
    a, b, dtype = _joined(left, right)
    if not dtype.is_float:
        dtype = current().default_fp
        a, b = cast(a, dtype), cast(b, dtype)
    return Expr(emit("arith.divf", mlir_type(dtype), [a.value, b.value]), dtype)


def floor_divide(left: Scalar, right: Scalar) -> Expr:
    """Division rounded towards minus infinity, as in Python; of integers by 0, 0."""
    a, b, dtype = _joined(left, right)
    type_ = mlir_type(dtype)
    if dtype.is_float:
        quotient = emit("arith.divf", type_, [a.value, b.value])
        return Expr(emit("math.floor", type_, [quotient]), dtype)
    return Expr(division.floor_quotient(a.value, b.value, dtype), dtype)


def modulo(left: Scalar, right: Scalar) -> Expr:
    """Remainder with the sign of the divisor, as in Python; of integers by 0, 0."""
    a, b, dtype = _joined(left, right)
    if dtype.is_integer:
        return Expr(division.floor_remainder(a.value, b.value, dtype), dtype)
    return arithmetic("-")(a, arithmetic("*")(floor_divide(a, b), b))


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
    a, b, dtype = _joined(left, right)
    if dtype.is_integer:
        return Expr(division.power(a.value, b.value, dtype), dtype)
    return Expr(emit("math.powf", mlir_type(dtype), [a.value, b.value]), dtype)


def _product(base: Expr, exponent: int) -> Expr:
    multiply = arithmetic("*")
    result: Expr | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else multiply(result, base)
        exponent >>= 1
        if exponent:
            base = multiply(base, base)
    return cast(1, base.dtype) if result is None else result


def bitwise(kind: str) -> Callable[[Scalar, Scalar], Expr]:
    """`and`, `or` or `xor` on two integers."""

    def apply(left: Scalar, right: Scalar) -> Expr:
        _check_bits(_SYMBOLS[kind], left, right)
        dtype = promote(dtype_of(left), dtype_of(right))
        operands = [cast(left, dtype).value, cast(right, dtype).value]
        return Expr(emit(f"arith.{kind}i", mlir_type(dtype), operands), dtype)

    return apply


def shift(symbol: str) -> Callable[[Scalar, Scalar], Expr]:
    """`<<` or `>>` on two integers, in the type of the left one."""

    def apply(left: Scalar, right: Scalar) -> Expr:
        _check_bits(symbol, left, right)
        dtype = dtype_of(left)
        a, count = cast(left, dtype).value, cast(right, dtype).value
        value = shifted(symbol, a, count, dtype)
        if symbol == "<<":
            report_overflow(symbol, a, count, value, dtype)
        return Expr(value, dtype)

    return apply


_SYMBOLS = {"and": "&", "or": "|", "xor": "^"}


def _check_bits(symbol: str, left: Scalar, right: Scalar) -> None:
    kinds = dtype_of(left), dtype_of(right)
    if any(kind.is_float for kind in kinds):
        raise TaichiTypeError(
            f"unsupported operand type(s) for '{symbol}': '{kinds[0]}' and '{kinds[1]}', where "
            "integers are needed"
        )


def comparison(symbol: str) -> Callable[[Scalar, Scalar], Any]:
    """A comparison of two scalars."""
    signed, unsigned, ordered = _COMPARE[symbol]

    def apply(left: Scalar, right: Scalar) -> Any:
        if not isinstance(left, Expr) and not isinstance(right, Expr):
            return _PYTHON[symbol](left, right)
        indices = _both_index(left, right)
        if indices is not None:
            return Expr(emit("arith.cmpi", i1_type(), indices, predicate=predicate(signed)), u1)
        dtype = promote(dtype_of(left), dtype_of(right))
        a, b = cast(left, dtype), cast(right, dtype)
        if dtype.is_float:
            return Expr(
                emit("arith.cmpf", i1_type(), [a.value, b.value], predicate=predicate(ordered)), u1
            )
        number = signed if dtype.is_signed else unsigned
        return Expr(
            emit("arith.cmpi", i1_type(), [a.value, b.value], predicate=predicate(number)), u1
        )

    return apply


def negate(value: Expr) -> Expr:
    """`-value`, of its type; of an unsigned integer, its complement to 2ⁿ, which is no overflow."""
    type_ = mlir_type(value.dtype)
    if value.dtype.is_float:
        return Expr(emit("arith.negf", type_, [value.value]), value.dtype)
    if value.dtype.is_signed:
        return arithmetic("-")(cast(0, value.dtype), value)
    return Expr(emit("arith.subi", type_, [constant(0, value.dtype), value.value]), value.dtype)


def bit_not(value: Expr) -> Expr:
    """`~value`. Raises TaichiTypeError for a float."""
    if value.dtype.is_float:
        raise TaichiTypeError(f"'~' takes integral inputs only, not {value.dtype}")
    return bitwise("xor")(value, cast(-1 if value.dtype != u1 else True, value.dtype))


def absolute(value: Expr) -> Expr:
    """`abs(value)`."""
    if value.dtype.is_integer and not value.dtype.is_signed:
        return value
    return Expr(
        emit(
            "math.absf" if value.dtype.is_float else "math.absi",
            mlir_type(value.dtype),
            [value.value],
        ),
        value.dtype,
    )


def truth(value: Scalar) -> Any:
    """A condition: a Python bool where it is constant, else an Expr of type `u1`."""
    if isinstance(value, Expr):
        return cast(value, u1)
    if not is_scalar(value):
        raise TaichiTypeError(f"a condition must be a scalar, not {type(value).__name__}")
    return bool(value)


def logical_not(value: Scalar) -> Any:
    """`not value`."""
    condition = truth(value)
    return not condition if isinstance(condition, bool) else bit_not(condition)


def select(condition: Scalar, left: Scalar, right: Scalar) -> Expr:
    """`left` where the condition holds, else `right`; both are computed."""
    test = truth(condition)
    dtype = promote(dtype_of(left), dtype_of(right))
    a, b = cast(left, dtype), cast(right, dtype)
    if isinstance(test, bool):
        return a if test else b
    return Expr(emit("arith.select", mlir_type(dtype), [test.value, a.value, b.value]), dtype)
