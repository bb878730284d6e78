"""Reductions: many values, over one index or several, to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.te import ReduceKind
from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import (
    call_function,
    check_arguments,
    fits,
    refuse,
    shown_value,
)
from mlirad.te.emission import Emitter, compute_value
from mlirad.te.expressions import (
    FLOAT,
    INDEX,
    Axis,
    Condition,
    Expr,
    Number,
    Operand,
    Reduction,
    arithmetic,
    boolean,
    cast,
    common,
    default_integer,
    expr,
    is_number,
    with_type,
)
from mlirad.te.expressions.operands import Kind
from mlirad.te.places import place
from mlirad.types import DataType, f16, f32, i32, u1


def _is_reduced(value: Any) -> bool:
    return isinstance(value, Axis) and value.is_reduced


def _are_reduced(value: Any) -> bool:
    return all(map(_is_reduced, value)) if isinstance(value, tuple | list) else _is_reduced(value)


Axes = Annotated[
    Any, Kind("an axis made by te.reduce_axis, or a list of them", "lists of axes", _are_reduced)
]


_COMBINED_BY = {  # operations of `te.emission`
    ReduceKind.SUM: "add",
    ReduceKind.PROD: "mul",
    ReduceKind.MAX: "max",
    ReduceKind.MIN: "min",
}


@dataclass(frozen=True)
class Combiner:
    """The function that makes two values one, and its identity."""

    identity: tuple[Expr, ...]
    combine: te.Combine | None  # of positions there is none


@check_arguments
def sum(
    value: Operand, axis: Axes, where: Condition | None = None, init: Operand | None = None
) -> Expr:
    """Return the sum over one or several axes, in the type of the value. Sums of f16 are
    accumulated in f32.

    Args:
        value: the expression to sum.
        axis: a `te.reduce_axis`, or several.
        where: a condition that says which points count.
        init: the value to start from. A sum over no points is `init`, or 0.

    Raises:
        TaichiTypeError: `axis` is not a reduction axis or occurs twice, or `where` is not a
            condition.
    """
    return _simple(ReduceKind.SUM, value, axis, where, init)


@check_arguments
def prod(
    value: Operand, axis: Axes, where: Condition | None = None, init: Operand | None = None
) -> Expr:
    """Return the product over axes, in the type of the value; see `sum`."""
    return _simple(ReduceKind.PROD, value, axis, where, init)


def greatest(value: Operand, axis: Any, where: Operand | None = None) -> Expr:
    """The maximum, of which the first one gets the derivative; over no points the least number of
    the type."""
    return _simple(ReduceKind.MAX, value, axis, where, None)


def least(value: Operand, axis: Any, where: Operand | None = None) -> Expr:
    """The minimum; over no points the greatest number of the type."""
    return _simple(ReduceKind.MIN, value, axis, where, None)


@check_arguments
def argmax(value: Operand, axis: Axes, where: Condition | None = None) -> Expr:
    """Return the position of the first maximum, an i32. For several axes, positions are counted
    with the last axis fastest.

    NaN counts as greater than any number. The result is 0 if no point counts. It has no derivative.
    Raises TaichiTypeError for an axis of extent 0.
    """
    return _position(ReduceKind.ARGMAX, value, axis, where)


@check_arguments
def argmin(value: Operand, axis: Axes, where: Condition | None = None) -> Expr:
    """Return the position of the first minimum, an i32; see `argmax`."""
    return _position(ReduceKind.ARGMIN, value, axis, where)


@check_arguments
def max(
    *values: Operand,
    axis: Axes | None = None,
    where: Condition | None = None,
    init: Operand | None = None,
) -> Expr:
    """Return a maximum: `te.max(x, axis=k)` over axes, where the first maximum gets the derivative
    (see `sum`), or `te.max(a, b)` of two numbers (see `maximum`). Raises TaichiTypeError for other
    arguments."""
    return _either("max", greatest, values, axis, where, init)


@check_arguments
def min(
    *values: Operand,
    axis: Axes | None = None,
    where: Condition | None = None,
    init: Operand | None = None,
) -> Expr:
    """Return a minimum: `te.min(x, axis=k)` over axes, where the first minimum gets the derivative
    (see `sum`), or `te.min(a, b)` of two numbers (see `minimum`). Raises TaichiTypeError for other
    arguments."""
    return _either("min", least, values, axis, where, init)


def _either(
    name: str,
    over: Callable[..., Expr],
    values: tuple[Operand, ...],
    axis: Any,
    where: Operand | None,
    init: Operand | None,
) -> Expr:
    if len(values) == 2 and axis is None and where is None and init is None:
        return arithmetic(name, *values)
    if len(values) != 1 or axis is None:
        raise TaichiTypeError(f"{name}: expected one value and axis=, or two values", place())
    number, start = with_start(_number(values[0]), init)
    if start is None:
        _check_points(name, axis)
    extreme = over(number, axis, where)
    return extreme if start is None else arithmetic(name, extreme, start)


def checked_axes(name: str, axis: Any) -> tuple[Axis, ...]:
    """The axes of a reduction. Raises TaichiTypeError for none, and for one twice."""
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    if not axes:
        refuse(name, "axis", f"is {shown_value(axis)}, expected at least one axis")
    if len(set(axes)) < len(axes):
        raise TaichiTypeError(f"{name}: axis: a reduction axis is named twice", place())
    return axes


def _check_points(name: str, axis: Any) -> None:
    """Raise TaichiTypeError if there is nothing to choose from."""
    for reduced in checked_axes(name, axis):
        if is_number(reduced.extent, 0):
            raise TaichiTypeError(
                f"{name}: axis: te.{name} over axis '{reduced.name}', of extent 0, has no value"
                + (": give init=" if name in ("max", "min") else ""),
                place(),
            )


def _number(value: Operand) -> Expr:
    number = expr(value)
    return cast(number, default_integer()) if number.dtype in (u1, INDEX) else number


def with_start(value: Expr, init: Operand | None) -> tuple[Expr, Expr | None]:
    """A value and what a reduction of it begins with, in one type: that of the value, or, if it has
    none of its own, that of the beginning."""
    if init is None:
        return value, None
    first = expr(init, value.dtype)
    value = cast(value, first.dtype) if value.dtype == FLOAT and first.dtype.is_float else value
    return value, cast(first, value.dtype)


def _simple(
    kind: ReduceKind, value: Operand, axis: Any, where: Operand | None, init: Operand | None
) -> Expr:
    axes = checked_axes(kind, axis)
    number, start = with_start(_number(value), init)
    dtype, accumulator = number.dtype, f32 if number.dtype == f16 else number.dtype
    number = cast(number, accumulator)
    neutral = _identity(kind, accumulator)
    name = _COMBINED_BY[kind]

    def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
        return [compute_value(name, accumulator, [a[0], c[0]])]

    first = neutral if start is None else cast(start, accumulator)
    reduction = Reduction(
        accumulator,
        kind,
        (number,),
        axes,
        _condition(where),
        (first,),
        Combiner((neutral,), combine),
    )
    return cast(reduction, dtype)


def _condition(where: Operand | None) -> Expr | None:
    return None if where is None else boolean(where)


def _identity(kind: ReduceKind, dtype: DataType) -> Number:
    """Return the number that changes no result of a reduction."""
    if kind in (ReduceKind.SUM, ReduceKind.PROD):
        return Number(dtype, int(kind == ReduceKind.PROD))
    is_least = kind in (ReduceKind.MAX, ReduceKind.ARGMAX)
    if dtype.is_float:
        return Number(dtype, -inf if is_least else inf)
    beyond = 1 << (dtype.bits - dtype.is_signed)
    return Number(dtype, -beyond * dtype.is_signed if is_least else beyond - 1)


def _position(kind: ReduceKind, value: Operand, axis: Any, where: Operand | None) -> Expr:
    number, axes = _in_signed_order(with_type(_number(value))), checked_axes(kind, axis)
    _check_points(kind, axis)
    combiner = Combiner((_identity(kind, number.dtype),), None)
    position = Reduction(i32, kind, (number,), axes, _condition(where), (), combiner)
    return arithmetic("max", position, 0)


def _in_signed_order(value: Expr) -> Expr:
    """An integer whose order with a sign is that of one without."""
    if value.dtype.is_float or value.dtype.is_signed:
        return value
    bits = value.dtype.bits
    signed = DataType(f"i{bits}", "i", bits)
    return cast(value, signed) + Number(signed, -(1 << (bits - 1)))


@check_arguments
def comm_reducer(
    combine: Callable[..., Any], identity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """Return a reduction by an associative function of two values, or of two tuples of values.

    Call the reduction with a value or a tuple of values, `axis=`, `where=` and `init=`. The values
    of a tuple are converted to their common type; floats without a type have the type `default_fp`.
    The call raises TaichiTypeError if there is no value, and if a function does not return as many
    values as it takes.

    Args:
        combine: the associative function.
        identity: a function that returns, for the types of the values, the neutral element.
        name: a name for messages.
    """

    def reduction(
        values: Operand | Sequence[Operand],
        axis: Axes,
        where: Condition | None = None,
        init: Operand | Sequence[Operand] | None = None,
    ) -> Any:
        listed = tuple(values) if isinstance(values, tuple | list) else (values,)
        if not listed:
            refuse(name, "values", "is empty: expected at least one value")
        numbers = tuple(map(with_type, common([_number(value) for value in listed])))
        types = [number.dtype for number in numbers]
        neutral = _tuple(
            call_function(identity, types, f"{name}: identity"), numbers, f"{name}: identity"
        )
        first = neutral if init is None else _tuple(init, numbers, f"{name}: init")
        combiner = Combiner(neutral, _by_function(combine, numbers, f"{name}: combine"))
        axes, condition = checked_axes(name, axis), _condition(where)
        reduced = ReduceKind.CUSTOM, numbers, axes, condition, first, combiner
        results = tuple(Reduction(value.dtype, *reduced, k) for k, value in enumerate(numbers))
        return results if isinstance(values, tuple | list) else results[0]

    reduction.__name__ = name
    return check_arguments(reduction)


def _tuple(numbers: Any, like: Sequence[Expr], subject: str) -> tuple[Expr, ...]:
    values = tuple(numbers) if isinstance(numbers, tuple | list) else (numbers,)
    if len(values) != len(like):
        raise TaichiTypeError(f"{subject}: expected {len(like)} values, got {len(values)}", place())
    for value in values:
        if not fits(value, Operand):
            raise TaichiTypeError(f"{subject}: {shown_value(value)} is not a number", place())
    return tuple(cast(expr(value, model.dtype), model.dtype) for value, model in zip(values, like))


@dataclass(frozen=True, eq=False)
class _Value(Expr):
    """A value that a combiner is given."""


def _by_function(combine: Callable[..., Any], like: Sequence[Expr], subject: str) -> te.Combine:
    sides = [[_Value(value.dtype) for value in like] for _ in range(2)]
    arguments = sides if len(like) > 1 else [sides[0][0], sides[1][0]]
    results = _tuple(call_function(combine, arguments, subject), like, subject)

    def emit(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
        def no_extent(extent: Any) -> ir.Value:
            raise TaichiTypeError(
                f"{subject}: it may only use its parameters and numbers", results[0].place
            )

        scope = dict[Expr, ir.Value](zip([*sides[0], *sides[1]], [*a, *c]))
        emitter = Emitter(scope, no_extent)
        return [emitter.value(result) for result in results]

    return emit
