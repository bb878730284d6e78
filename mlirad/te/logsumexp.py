"""The logarithm of a sum of exponentials, as a reduction."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from mlirad.te.compute import Renaming
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Call,
    Expr,
    Operand,
    Reduction,
    as_float,
    cast,
    expr,
    select,
)
from mlirad.te.functions import abs as abs_of
from mlirad.te.functions import exp, log
from mlirad.te.reductions import checked_axes, largest
from mlirad.te.reductions import sum as sum_over


def logsumexp(
    value: Operand, axis: Any, where: Operand | None = None, init: Operand | None = None
) -> Expr:
    """`log(exp(init) + sum(exp(value)))`, without overflow: the greatest one is taken out first.
    See `sum`; integers are converted to f32."""
    made, axes = expr(as_float(expr(value))), checked_axes(axis)
    start = None if init is None else cast(expr(init, made.dtype), made.dtype)
    other = Renaming({one: Axis(INDEX, one.name, one.extent, is_reduced=True) for one in axes})
    is_empty = any(isinstance(one.extent, int) and not one.extent for one in axes)
    found = largest(
        other.of(made),
        tuple(other.of(one) for one in axes),
        None if where is None else other.of(expr(where)),
        -inf if start is None and is_empty else start,
    )
    most = _constant(found)
    shift = select(abs_of(most) < inf, most, 0.0)  # an infinity has no difference from itself
    first = None if start is None else exp(start - shift)
    return log(sum_over(exp(made - shift), axes, where, first)) + shift


def _constant(one: Expr) -> Expr:
    """The same, with reductions through which no derivative passes: what is made of it does not
    depend on it."""
    if isinstance(one, Reduction):
        return replace(one, is_constant=True)
    if isinstance(one, Call):
        return replace(one, arguments=tuple(map(_constant, one.arguments)))
    return one
