"""Reductions: many values, over one index or several, to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiTypeError
from mlirad.ir import build as b
from mlirad.te.arguments import called, checked
from mlirad.te.emission import Emitter
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Expr,
    Number,
    Operand,
    Reduction,
    arithmetic,
    cast,
    common,
    expr,
)
from mlirad.te.places import place
from mlirad.types import DataType, f16, f32, i32, u1


@dataclass(frozen=True)
class Combiner:
    """What makes two values one, and what changes no value."""

    identity: tuple[Expr, ...]
    combine: te.Combine | None  # of positions there is none


def sum(
    value: Operand, axis: Any, where: Operand | None = None, init: Operand | None = None
) -> Expr:
    """The sum over one `te.reduce_axis`, or several; `where` says which points count, `init` what
    to begin with.

    The result has the type of the value; sums of f16 are kept in f32. Over no points it is `init`,
    else 0. Raises TaichiTypeError for an axis that is none, or is named twice, and for a `where`
    that is no condition.
    """
    return _simple("sum", value, axis, where, init, 0)


def prod(
    value: Operand, axis: Any, where: Operand | None = None, init: Operand | None = None
) -> Expr:
    """The product over axes, in the type of the value; see `sum`."""
    return _simple("prod", value, axis, where, init, 1)


def largest(
    value: Operand, axis: Any, where: Operand | None = None, init: Operand | None = None
) -> Expr:
    """The maximum; of equal numbers the first one gets the derivative. See `sum`."""
    made = _number(value)
    if init is None:
        _check_points("max", axis)
    found = _simple("max", made, axis, where, None, _least(made.dtype))
    return found if init is None else arithmetic("max", found, cast(expr(init), made.dtype))


def smallest(
    value: Operand, axis: Any, where: Operand | None = None, init: Operand | None = None
) -> Expr:
    """The minimum; of equal numbers the first one gets the derivative. See `sum`."""
    made = _number(value)
    if init is None:
        _check_points("min", axis)
    found = _simple("min", made, axis, where, None, _greatest(made.dtype))
    return found if init is None else arithmetic("min", found, cast(expr(init), made.dtype))


def argmax(value: Operand, axis: Any, where: Operand | None = None) -> Expr:
    """Where the maximum is first, an i32: along one axis, or counted over several, the last one
    fastest. NaN is greater than numbers. 0 where no point counts. It has no derivative. Raises
    TaichiTypeError for an axis of extent 0."""
    return _position("argmax", value, axis, where)


def argmin(value: Operand, axis: Any, where: Operand | None = None) -> Expr:
    """Where the minimum is first, an i32; see `argmax`."""
    return _position("argmin", value, axis, where)


def max(*values: Operand, axis: Any = None, where: Operand | None = None, init: Any = None) -> Expr:
    """`te.max(x, axis=k)`: the maximum over axes, of which the first one gets the derivative (see
    `sum`); `te.max(a, b)`: the greater one (see `maximum`). Raises TaichiTypeError for others."""
    return _either("max", largest, values, axis, where, init)


def min(*values: Operand, axis: Any = None, where: Operand | None = None, init: Any = None) -> Expr:
    """`te.min(x, axis=k)`: the minimum over axes, of which the first one gets the derivative (see
    `sum`); `te.min(a, b)`: the smaller one (see `minimum`). Raises TaichiTypeError for others."""
    return _either("min", smallest, values, axis, where, init)


def _either(
    name: str,
    over: Callable[..., Expr],
    values: tuple[Operand, ...],
    axis: Any,
    where: Operand | None,
    init: Any,
) -> Expr:
    if len(values) == 1 and axis is not None:
        return over(values[0], axis, where, init)
    if len(values) == 2 and axis is None and where is None and init is None:
        return arithmetic(name, *values)
    raise TaichiTypeError(f"te.{name} takes one value and axis=, or two values", place())


def checked_axes(axis: Any) -> tuple[Axis, ...]:
    """The axes of a reduction. Raises TaichiTypeError for what are none, or not different ones."""
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for one in axes:
        if not isinstance(one, Axis) or not one.is_reduced:
            raise TaichiTypeError(
                f"a reduction goes over axes made by te.reduce_axis, not over {one!r}"
                if not isinstance(one, Expr)
                else "a reduction goes over axes made by te.reduce_axis, not over an index of the "
                "definition",
                place(),
            )
    if not axes:
        raise TaichiTypeError("a reduction over no axis", place())
    if len(set(axes)) < len(axes):
        raise TaichiTypeError("a reduction axis is named twice", place())
    return axes


def _check_points(name: str, axis: Any) -> None:
    """Raise TaichiTypeError where there is nothing to choose from."""
    for one in checked_axes(axis):
        if isinstance(one.extent, int) and not one.extent:
            raise TaichiTypeError(
                f"te.{name} over axis '{one.name}', of extent 0, has no value"
                + (": give init=" if name in ("max", "min") else ""),
                place(),
            )


def _number(value: Operand) -> Expr:
    made = expr(value)
    return cast(made, i32) if made.dtype in (u1, INDEX) else made


def _simple(
    kind: str,
    value: Operand,
    axis: Any,
    where: Operand | None,
    init: Operand | None,
    identity: float,
) -> Expr:
    made, axes = _number(value), checked_axes(axis)
    given, kept = made.dtype, f32 if made.dtype == f16 else made.dtype
    made = cast(made, kept)
    neutral = Number(kept, identity)
    names = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}

    def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
        return [_op(names[kind], kept, a[0], c[0])]

    first = neutral if init is None else cast(expr(init, kept), kept)
    reduction = Reduction(
        kept, kind, (made,), axes, _condition(where), (first,), Combiner((neutral,), combine)
    )
    return cast(reduction, given)


def _condition(where: Operand | None) -> Expr | None:
    if where is None:
        return None
    made = expr(where)
    if made.dtype != u1:
        raise TaichiTypeError(f"where= is a condition, not a number of type {made.dtype}", place())
    return made


def _op(name: str, dtype: DataType, left: ir.Value, right: ir.Value) -> ir.Value:
    if dtype.is_float:
        floats = {"add": "addf", "mul": "mulf", "max": "maximumf", "min": "minimumf"}
        return b.make(f"arith.{floats[name]}", left.type, [left, right])
    sign = "s" if dtype.is_signed else "u"
    integers = {"add": "addi", "mul": "muli", "max": f"max{sign}i", "min": f"min{sign}i"}
    return b.make(f"arith.{integers[name]}", left.type, [left, right])


def _least(dtype: DataType) -> float:
    if dtype.is_float:
        return -inf
    return -(1 << (dtype.bits - 1)) if dtype.is_signed else 0


def _greatest(dtype: DataType) -> float:
    if dtype.is_float:
        return inf
    return (1 << (dtype.bits - dtype.is_signed)) - 1


def _position(kind: str, value: Operand, axis: Any, where: Operand | None) -> Expr:
    made, axes = _in_signed_order(_number(value)), checked_axes(axis)
    _check_points(kind, axis)
    worst = _least(made.dtype) if kind == "argmax" else _greatest(made.dtype)
    none = Combiner((Number(made.dtype, worst),), None)
    condition = _condition(where)
    found = Reduction(i32, kind, (made,), axes, condition, (), none)
    return arithmetic("max", found, 0)


def _in_signed_order(value: Expr) -> Expr:
    """An integer whose order with a sign is that of one without."""
    if value.dtype.is_float or value.dtype.is_signed:
        return value
    bits = value.dtype.bits
    signed = DataType(f"i{bits}", "i", bits)
    return cast(value, signed) + Number(signed, -(1 << (bits - 1)))


@checked
def comm_reducer(
    combine: Callable[..., Any], identity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A reduction by a function of two values, or of two tuples of values, that is associative.

    The values of a tuple are converted to the type that they have together. `identity` gives, for
    their types, what changes none. The reduction is called with a value or a tuple of values,
    `axis=`, `where=` and `init=`; it raises TaichiTypeError for no value, and for functions that do
    not give as many values as they take.
    """

    def reduction(values: Any, axis: Any, where: Operand | None = None, init: Any = None) -> Any:
        given = tuple(values) if isinstance(values, tuple | list) else (values,)
        if not given:
            raise TaichiTypeError(f"reduction '{name}' was given no value", place())
        made = tuple(common([_number(value) for value in given]))
        types = [one.dtype for one in made]
        neutral = _tuple(called(identity, types, f"the identity of '{name}'"), made)
        first = neutral if init is None else _tuple(init, made)
        own = Combiner(neutral, _by_function(combine, made))
        axes, condition = checked_axes(axis), _condition(where)
        results = tuple(
            Reduction(one.dtype, "custom", made, axes, condition, first, own, number)
            for number, one in enumerate(made)
        )
        return results if isinstance(values, tuple | list) else results[0]

    reduction.__name__ = name
    return reduction


def _tuple(given: Any, like: Sequence[Expr]) -> tuple[Expr, ...]:
    values = tuple(given) if isinstance(given, tuple | list) else (given,)
    if len(values) != len(like):
        raise TaichiTypeError(
            f"a reduction of {len(like)} values was given {len(values)} to begin with", place()
        )
    return tuple(cast(expr(value, one.dtype), one.dtype) for value, one in zip(values, like))


@dataclass(frozen=True, eq=False)
class _Value(Expr):
    """A value that a combiner is given."""


def _by_function(combine: Callable[..., Any], like: Sequence[Expr]) -> te.Combine:
    sides = [[_Value(one.dtype) for one in like] for _ in range(2)]
    arguments = sides if len(like) > 1 else [sides[0][0], sides[1][0]]
    found = _tuple(called(combine, arguments, "what a reduction combines by"), like)

    def emitted(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
        def no_extent(extent: Any) -> ir.Value:
            raise TaichiTypeError("a combiner uses its values and numbers only", found[0].place)

        given = dict[Expr, ir.Value](zip([*sides[0], *sides[1]], [*a, *c]))
        emitter = Emitter(given, no_extent)
        return [emitter.value(one) for one in found]

    return emitted
