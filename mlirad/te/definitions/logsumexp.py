"""The logarithm of a sum of exponentials, as a reduction."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from mlirad.te.definitions.arguments import check_arguments
from mlirad.te.definitions.elementary import exp, log
from mlirad.te.definitions.functions import abs as abs_of
from mlirad.te.definitions.reductions import Axes, checked_axes, greatest, with_start
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Call,
    Condition,
    Expr,
    Operand,
    Reduction,
    arithmetic,
    as_float,
    expr,
    select,
)
from mlirad.te.expressions.normal_form import replace_nodes


@check_arguments
def logsumexp(
    value: Operand, axis: Axes, where: Condition | None = None, init: Operand | None = None
) -> Expr:
    """Return `log(exp(init) + sum(exp(value)))`, without overflow, because the maximum is
    subtracted first. See `sum`. Integers are converted to floats."""
    axes = checked_axes("logsumexp", axis)
    summand, start = with_start(expr(as_float(expr(value))), init)
    other = {axis: Axis(INDEX, axis.name, axis.extent, is_reduced=True) for axis in axes}
    condition = None if where is None else replace_nodes(expr(where), other)
    most = greatest(replace_nodes(summand, other), tuple(other.values()), condition)
    most = _constant(most if start is None else arithmetic("max", most, start))
    shift = select(abs_of(most) < inf, most, 0.0)  # an infinity has no difference from itself
    first = None if start is None else exp(start - shift)
    return log(sum_over(exp(summand - shift), axes, where, first)) + shift


def _constant(node: Expr) -> Expr:
    """Return an expression with reductions that pass no derivative: what is made of it does not
    depend on it."""
    if isinstance(node, Reduction):
        return replace(node, is_constant=True)
    if isinstance(node, Call):
        return replace(node, arguments=tuple(map(_constant, node.arguments)))
    return node
