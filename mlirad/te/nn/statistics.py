"""Sums, means, variances and norms over axes of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import nan
from operator import mul
from typing import Any

from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.elementary import sqrt
from mlirad.te.definitions.operators import operator
from mlirad.te.definitions.reductions import greatest, least
from mlirad.te.definitions.reductions import prod as product_over
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Axis, Expr, Extent, as_float, cast, comparison, expr, select
from mlirad.te.nn.geometry.per_axis import axes_of, check_elements
from mlirad.te.tensor import Tensor
from mlirad.types import f16, f32

# of an element, and the axes to reduce; what comes before it takes where the element lies, too
Reduce = Callable[[Expr, tuple[Axis, ...]], Expr]


def over(
    caller: str, x: Tensor, axis: Any, keepdims: bool, function: Reduce, first: Any = None
) -> Tensor:
    """A tensor reduced over some axes, or all; `first(element, indices)` is what is reduced."""
    chosen = axes_of(caller, axis, x.ndim)
    axes = {k: reduce_axis(x.shape[k], f"r{k}") for k in chosen}
    remaining = [k for k in range(x.ndim) if k not in axes]
    shape = [1 if k in axes else x.shape[k] for k in range(x.ndim) if keepdims or k not in axes]

    def element(*indices: Expr) -> Expr:
        index_of = dict(zip(range(x.ndim) if keepdims else remaining, indices)) | dict(axes)
        at = tuple(index_of[k] for k in range(x.ndim))
        value = x[at] if first is None else first(x[at], at)
        return function(value, tuple(axes.values())) if axes else value

    return compute(tuple(shape), element, caller)


def count_of(extents: Sequence[Extent], like: Expr) -> Expr | int:
    """Return the number of elements."""
    total = reduce(lambda left, right: left * right, extents, 1)
    return total if isinstance(total, int) else cast(total, like.dtype)


def average(value: Expr, axes: tuple[Axis, ...]) -> Expr:
    """A mean, as one sum; of nothing it is NaN. That of f16 is made in f32."""
    number = expr(as_float(value))
    summand = cast(number, f32) if number.dtype == f16 else number
    total = reduce(mul, [axis.extent for axis in axes], 1)
    if isinstance(total, int):
        weighed = summand * (1.0 / total) if total else summand
        return cast(sum_over(weighed, axes, init=None if total else nan), number.dtype)
    start = select(comparison("eq", total, 0), nan, 0.0)
    return cast(
        sum_over(summand * (1.0 / cast(total, summand.dtype)), axes, init=start), number.dtype
    )


def at_kept(indices: Sequence[Expr], axes: Sequence[int]) -> tuple[Any, ...]:
    """Return the indices of an element after a reduction over axes that are kept."""
    return tuple(0 if k in axes else index for k, index in enumerate(indices))


@operator
def sum(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the sum over an axis, over several, or over all (None). The axes are removed, or with
    `keepdims` kept with extent 1. Raises TaichiTypeError if an axis does not exist."""
    return over("sum", x, axis, keepdims, sum_over)


@operator
def prod(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the product; see `sum`."""
    return over("prod", x, axis, keepdims, product_over)


@operator
def max(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the maximum; see `sum`. In a tie the first maximum gets the derivative. Raises
    TaichiTypeError for axes without elements."""
    check_elements("max", x, axes_of("max", axis, x.ndim), "a maximum of nothing")
    return over("max", x, axis, keepdims, greatest)


@operator
def min(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the minimum; see `sum`. In a tie the first minimum gets the derivative. Raises
    TaichiTypeError for axes without elements."""
    check_elements("min", x, axes_of("min", axis, x.ndim), "a minimum of nothing")
    return over("min", x, axis, keepdims, least)


@operator
def mean(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean; see `sum`. The mean of no elements is NaN. Integers are converted to
    `default_fp`."""
    return over("mean", x, axis, keepdims, average)


@operator
def variance(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean of the squared deviations from the mean, which is computed first; see
    `sum`."""
    chosen = axes_of("variance", axis, x.ndim)
    middle = over("mean", x, axis, True, average)

    def squared_distance(value: Expr, at: Sequence[Expr]) -> Expr:
        return (value - middle[at_kept(at, chosen)]) ** 2

    return over("variance", x, axis, keepdims, average, squared_distance)


@operator
def norm(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the Euclidean norm; see `sum`. Its derivative at 0 is NaN."""
    return over("norm", x, axis, keepdims, lambda value, axes: sqrt(sum_over(value * value, axes)))


@operator
def l2_normalize(x: Tensor, axis: Any = None, epsilon: float = 1e-12) -> Tensor:
    """Divide x by the root of its sum of squares over some axes plus `epsilon`."""
    chosen = axes_of("l2_normalize", axis, x.ndim)
    total = over("squares", x, axis, True, lambda value, axes: sum_over(value * value, axes))
    return compute(
        x.shape, lambda *i: x[i] / sqrt(total[at_kept(i, chosen)] + epsilon), "l2_normalize"
    )
