"""Softmax and its relatives: exponentials that do not overflow, as the greatest one is taken out
first; no result depends on it, so no derivative passes through it."""

from __future__ import annotations

from typing import Any

from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.elementary import exp, log
from mlirad.te.definitions.logsumexp import logsumexp as logsumexp_over
from mlirad.te.definitions.operators import operator, stop_gradient
from mlirad.te.definitions.reductions import greatest
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Expr
from mlirad.te.nn.geometry.per_axis import axis_of
from mlirad.te.nn.statistics import at_kept, over
from mlirad.te.tensor import Tensor


@operator
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return `exp(x) / sum(exp(x))` along an axis. Raises TaichiTypeError if the axis does not
    exist."""
    chosen = [axis_of("softmax", axis, x.ndim)]
    most = stop_gradient(over("softmax.max", x, chosen, True, greatest))
    weights = compute(x.shape, lambda *i: exp(x[i] - most[at_kept(i, chosen)]), "softmax.exp")
    total = over("softmax.sum", weights, chosen, True, sum_over)
    return compute(x.shape, lambda *i: weights[i] / total[at_kept(i, chosen)], "softmax")


@operator
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return `x - log(sum(exp(x)))` along an axis. Raises TaichiTypeError if the axis does not
    exist."""
    chosen = [axis_of("log_softmax", axis, x.ndim)]
    most = stop_gradient(over("log_softmax.max", x, chosen, True, greatest))
    shifted = compute(x.shape, lambda *i: x[i] - most[at_kept(i, chosen)], "log_softmax.shifted")
    total = over(
        "log_softmax.sum", shifted, chosen, True, lambda value, k: log(sum_over(exp(value), k))
    )
    return compute(x.shape, lambda *i: shifted[i] - total[at_kept(i, chosen)], "log_softmax")


@operator
def logsumexp(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return `log(sum(exp(x)))`; see `te.nn.sum`."""

    def function(value: Expr, axes: Any) -> Expr:
        return logsumexp_over(value, axes)

    return over("logsumexp", x, axis, keepdims, function)
