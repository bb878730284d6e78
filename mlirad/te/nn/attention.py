"""Attention."""

from __future__ import annotations

from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.elementary import exp
from mlirad.te.definitions.operators import operator, stop_gradient
from mlirad.te.definitions.reductions import greatest
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Expr, Extent, select
from mlirad.te.nn.geometry.per_axis import check_rank, check_same, fixed_extent
from mlirad.te.tensor import Tensor


@operator
def attention(
    query: Tensor, key: Tensor, value: Tensor, causal: bool = False, scale: float | None = None
) -> Tensor:
    """Return `softmax(query @ key.T * scale) @ value` (Vaswani et al., "Attention is all you need",
    2017).

    Args:
        query: of shape (batch, heads, queries, width).
        key: of shape (batch, heads, keys, width).
        value: of shape (batch, heads, keys, columns).
        causal: query i uses keys 0 to i only.
        scale: `1 / sqrt(width)` by default.

    Returns:
        A tensor of shape (batch, heads, queries, columns).

    Raises:
        TaichiTypeError: the shapes do not fit.
    """
    _check(query, key, value)
    batch, heads, rows, width = query.shape
    keys, columns = value.shape[2:]
    factor = _factor(width) if scale is None else scale
    d, j, m, s = (reduce_axis(extent) for extent in (width, keys, keys, keys))

    scores = compute(
        (batch, heads, rows, keys),
        lambda b, h, i, k: sum_over(query[b, h, i, d] * key[b, h, k, d] * factor, d),
        "attention.scores",
    )
    most = stop_gradient(
        compute(
            (batch, heads, rows),
            lambda b, h, i: greatest(scores[b, h, i, m], m, _visible(i, m, causal)),
            "attention.max",
        )
    )

    def weight(b: Expr, h: Expr, i: Expr, k: Expr) -> Expr:
        weight = exp(scores[b, h, i, k] - most[b, h, i])
        return select(k <= i, weight, 0.0) if causal else weight

    weights = compute(scores.shape, weight, "attention.exp")
    total = compute(
        (batch, heads, rows), lambda b, h, i: sum_over(weights[b, h, i, s], s), "attention.sum"
    )
    return compute(
        (batch, heads, rows, columns),
        lambda b, h, i, c: sum_over(
            weights[b, h, i, j] / total[b, h, i] * value[b, h, j, c], j, _visible(i, j, causal)
        ),
        "attention",
    )


def _factor(width: Extent) -> float:
    extent = fixed_extent("attention", "key", width, "or give scale=")
    return float(extent**-0.5) if extent else 1.0


def _visible(query: Expr, key: Expr, causal: bool) -> Expr | None:
    return key <= query if causal else None


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    for tensor, named in ((query, "query"), (key, "key"), (value, "value")):
        check_rank("attention", named, tensor, 4, "4 axes (batch, heads, rows, width)")
    for axis, named in ((0, "batches"), (1, "heads"), (3, "widths")):
        check_same("attention", "query and key", query.shape[axis], key.shape[axis], named)
    for axis, named in ((0, "batches"), (1, "heads"), (2, "rows")):
        check_same("attention", "key and value", key.shape[axis], value.shape[axis], named)
