"""Expressions as trees of plain objects, made by operators and functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, Protocol

from mlirad.bindings import ir
from mlirad.dialect.te import ReduceKind
from mlirad.errors import SourceLocation, TaichiTypeError
from mlirad.ir.ops import Arith, Math
from mlirad.te.expressions.order import in_order
from mlirad.te.expressions.types import FLOAT, INDEX, common_type, default_float, scalar_type
from mlirad.te.places import place
from mlirad.types import DataType, f16, f32, i32, u1

_GREATEST = sys.float_info.max
Operator = Callable[[Any, Any], "Expr"]
Operand = Any  # an expression, or a number of Python's
Extent = Any  # of an axis: an integer, or an expression of sizes


class Source(Protocol):
    """A tensor, as expressions know it."""

    @property
    def value(self) -> ir.Value:
        """The tensor's definition in IR."""

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The tensor's extents."""

    @property
    def name(self) -> str:
        """The tensor's name in messages."""


def _both_orders(function: Callable[[Any, Any], Expr]) -> tuple[Operator, Operator]:
    """Return the methods of an operator: of its left operand, and of its right one."""
    return lambda left, right: function(left, right), lambda right, left: function(left, right)


@dataclass(frozen=True, eq=False)
class Expr:
    """A number that depends on indices."""

    operand_fields: ClassVar[tuple[str, ...]] = ()
    dtype: DataType
    place: SourceLocation = field(default_factory=place, kw_only=True)

    @cached_property
    def operands(self) -> tuple[Expr, ...]:
        """The expressions that this one is made of."""
        values = [getattr(self, name) for name in self.operand_fields]
        lists = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(node for nodes in lists for node in nodes if node is not None)

    def with_operands(self, function: Callable[[Expr], Expr]) -> Expr:
        """Return the expression with other operands; itself if none changes."""
        if all(function(operand) is operand for operand in self.operands):
            return self
        values = {name: getattr(self, name) for name in self.operand_fields}
        return replace(self, **{name: _mapped(function, value) for name, value in values.items()})

    def nodes(self) -> list[Expr]:
        """Return the expression and all that it is made of, each once, operands first."""
        return in_order(self, lambda node: node.operands)

    __add__, __radd__ = _both_orders(lambda a, b: arithmetic("add", a, b))
    __sub__, __rsub__ = _both_orders(lambda a, b: arithmetic("sub", a, b))
    __mul__, __rmul__ = _both_orders(lambda a, b: arithmetic("mul", a, b))
    __truediv__, __rtruediv__ = _both_orders(
        lambda a, b: arithmetic("div", as_float(a), as_float(b))
    )
    __floordiv__, __rfloordiv__ = _both_orders(lambda a, b: integer_division("floordiv", a, b))
    __mod__, __rmod__ = _both_orders(lambda a, b: integer_division("mod", a, b))
    __pow__, __rpow__ = _both_orders(lambda a, b: power(a, b))

    def __neg__(self) -> Expr:
        if self.dtype.is_float:
            return Call(self.dtype, Arith.NEGF, (self,))
        return arithmetic("sub", 0, self)

    def __lt__(self, other: Operand) -> Expr:
        return comparison("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return comparison("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return comparison("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return comparison("ge", self, other)

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return comparison("eq", self, other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return comparison("ne", self, other)

    def __and__(self, other: Operand) -> Expr:
        return logic("and", self, other)

    def __or__(self, other: Operand) -> Expr:
        return logic("or", self, other)

    def __invert__(self) -> Expr:
        return Call(u1, "not", (boolean(self),))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TaichiTypeError(
            "an expression has no truth value before the program runs: use te.select, and & | ~ "
            "in conditions",
            place(),
        )

    def astype(self, dtype: Any) -> Expr:
        """Convert the number to another type."""
        return cast(self, dtype)


@dataclass(frozen=True, eq=False)
class Number(Expr):
    """A number that is known."""

    value: float | int | bool


@dataclass(frozen=True, eq=False)
class Size(Expr):
    """A size that a call decides."""

    name: str

    def __repr__(self) -> str:
        return self.name.partition(".")[0]


@dataclass(frozen=True, eq=False)
class Axis(Expr):
    """An index of a definition, or one that a reduction goes through: from 0 up to its extent."""

    name: str
    extent: Extent
    is_reduced: bool = False

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """An operation on scalars: an op of MLIR by its name, or one of `te.emission`."""

    operand_fields = ("arguments",)
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """A choice of two numbers, of which only one is computed."""

    operand_fields = ("condition", "then", "otherwise")
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, eq=False)
class Read(Expr):
    """An element of a tensor."""

    operand_fields = ("indices",)
    tensor: Source
    indices: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Reduction(Expr):
    """Values combined over axes; of those that come out, the one of a number.

    `where` says which points count; `initial` are the values to begin with.
    """

    operand_fields = ("values", "where", "initial")
    kind: ReduceKind
    values: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    where: Expr | None
    initial: tuple[Expr, ...]
    combiner: Any = None  # of kind `custom`: a function of two tuples of expressions
    number: int = 0
    is_constant: bool = False  # no derivative passes through it


def _mapped(function: Callable[[Expr], Expr], value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(function, value))
    return None if value is None else function(value)


def expr(value: Operand, like: DataType | None = None) -> Expr:
    """A value as an expression; Python's numbers take the type of what they meet. Raises
    TaichiTypeError for what is none."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Number(u1, value)
    if isinstance(value, int):
        return number(INDEX if like is None else i32 if like == u1 else like, value)
    if isinstance(value, float):
        return Number(FLOAT if like is None or not like.is_float else like, value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return expr(value.item(), like)
    if hasattr(value, "element_type_of_te"):
        raise TaichiTypeError(
            f"tensor '{value.name}' is used as a number: index one of its elements",
            place(),
        )
    raise TaichiTypeError(
        f"expected a number or an expression, got a {type(value).__name__}", place()
    )


def number(dtype: DataType, value: float) -> Number:
    """A number of some type. Raises TaichiTypeError for one that the type has not."""
    if dtype == u1:
        return Number(dtype, bool(value))
    if dtype.is_float and abs(value) > _GREATEST and isinstance(value, int):
        raise TaichiTypeError(f"{value} is out of range for {dtype}", place())
    if dtype.is_float:
        return Number(dtype, float(value))
    beyond = 1 << (dtype.bits - dtype.is_signed)
    if not -beyond * dtype.is_signed - 1 < value < beyond:
        raise TaichiTypeError(f"{value} is out of range for {dtype}", place())
    return Number(dtype, int(value))


def common(values: Sequence[Operand]) -> list[Expr]:
    """Values in the type that they have together."""
    dtypes = [value.dtype for value in values if isinstance(value, Expr)]
    like = reduce(common_type, dtypes) if dtypes else None
    numbers = [expr(value, like) for value in values]
    dtype = reduce(common_type, [number.dtype for number in numbers])
    return [cast(number, dtype) for number in numbers]


def cast(value: Operand, dtype: Any) -> Expr:
    """A number in another scalar type; from floats to integers towards 0. Raises TaichiTypeError
    for what is no type."""
    source, target = expr(value), scalar_type(dtype)
    if source.dtype == target:
        return source
    if isinstance(source, Number):
        return number(target, source.value)
    if source.dtype == FLOAT and target.is_float:
        return _with_float_type(source, target)
    return Call(target, "cast", (with_type(source),))


def with_type(node: Expr) -> Expr:
    """An expression in a type of its own: floats without one are of `default_fp`."""
    return cast(node, default_float()) if node.dtype == FLOAT else node


def _with_float_type(root: Expr, dtype: DataType) -> Expr:
    """Return an expression of numbers without a type in a type of floats; for f16 it is computed in
    f32, as sizes are."""
    precision = f32 if dtype == f16 else dtype
    copies: dict[Expr, Expr] = {}
    for node in in_order(root, lambda e: [o for o in e.operands if o.dtype == FLOAT]):
        again = node.with_operands(lambda operand: copies.get(operand, operand))
        if isinstance(again, Number):
            again = replace(again, value=float(again.value))
        if isinstance(again, Reduction):
            neutral = tuple(replace(value, dtype=precision) for value in again.combiner.identity)
            again = replace(again, combiner=replace(again.combiner, identity=neutral))
        copies[node] = replace(again, dtype=precision)
    return cast(copies[root], dtype)


def as_float(value: Operand) -> Operand:
    """An expression of integers as one of floats, without a type of its own."""
    is_integer = isinstance(value, Expr) and not value.dtype.is_float
    return cast(value, FLOAT) if is_integer else value


def arithmetic(name: str, *arguments: Operand) -> Expr:
    """A sum, difference, product or quotient, a maximum or minimum."""
    numbers = common(arguments)
    if numbers[0].dtype == u1:
        numbers = [cast(number, i32) for number in numbers]
    folded = _fold_integers(name, numbers)
    return Call(numbers[0].dtype, name, tuple(numbers)) if folded is None else folded


def _fold_integers(name: str, operands: Sequence[Expr]) -> Expr | None:
    """Integers that are known, so that extents are; None if they are not."""
    numbers = [operand.value for operand in operands if isinstance(operand, Number)]
    if len(numbers) < 2 or operands[0].dtype.is_float:
        return None
    left, right = map(int, numbers)
    results = {"add": left + right, "sub": left - right, "mul": left * right}
    return number(operands[0].dtype, results[name]) if name in results else None


def integer_division(name: str, left: Operand, right: Operand) -> Expr:
    """A quotient rounded down, or what it leaves. Raises TaichiTypeError for floats."""
    operands = common((left, right))
    if operands[0].dtype.is_float:
        raise TaichiTypeError("in tensor expressions // and % need integers", place())
    divisor = operands[1]
    if isinstance(divisor, Number) and divisor.value == 0:
        raise TaichiTypeError("division by 0", place())
    return Call(operands[0].dtype, name, tuple(operands))


def power(base: Operand, exponent: Operand) -> Expr:
    """A power; small integer exponents are products."""
    if isinstance(exponent, int) and not isinstance(exponent, bool) and 1 <= exponent <= 8:
        factor = expr(base)
        return reduce(lambda product, _: product * factor, range(exponent - 1), factor)
    operands = common((as_float(expr(base)), as_float(exponent)))
    return Call(operands[0].dtype, Math.POWF, tuple(operands))


def comparison(name: str, left: Operand, right: Operand) -> Expr:
    """A comparison."""
    return Call(u1, name, tuple(map(with_type, common((left, right)))))


def logic(name: str, left: Operand, right: Operand) -> Expr:
    """Both conditions, or one."""
    return Call(u1, name, (boolean(left), boolean(right)))


def boolean(value: Operand) -> Expr:
    """A condition. Raises TaichiTypeError for a number."""
    condition = expr(value)
    if condition.dtype != u1:
        raise TaichiTypeError(
            f"& | ~ take conditions, got numbers of type {condition.dtype}", place()
        )
    return condition


def select(condition: Operand, then: Operand, otherwise: Operand) -> Expr:
    """A number chosen by a condition, in the type that both have together; what is not chosen is
    not computed, and reads nothing."""
    chosen = common((then, otherwise))
    return Select(chosen[0].dtype, boolean(condition), *chosen)
