"""Elements that data choose: read by index, or added by index."""

from __future__ import annotations

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.compute import compute, placeholder
from mlirad.te.definitions.operators import operator
from mlirad.te.derivation.differentiate import check_float, differentiate
from mlirad.te.expressions import Extent, cast, is_empty, is_number, scalar_type, select
from mlirad.te.nn.geometry.per_axis import (
    axis_of,
    check_extents,
    check_least_rank,
    check_rank,
    check_same,
    extent_of,
)
from mlirad.te.places import place
from mlirad.te.tensor import Tensor
from mlirad.types import TypeLike


@operator
def embedding(indices: Tensor, table: Tensor) -> Tensor:
    """Return rows of a table.

    Args:
        indices: integers of any shape, below the number of rows.
        table: of shape (rows, width).

    Returns:
        A tensor of shape (..., width).

    Raises:
        TaichiTypeError: the arguments do not fit.
    """
    check_rank("embedding", "table", table, 2, "2 axes (rows, width)")
    check_indices("embedding", indices, "table", table.shape[0])
    shape = (*indices.shape, table.shape[1])
    return compute(shape, lambda *i: table[indices[i[:-1]], i[-1]], "embedding")


@operator
def take(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """Return the elements of x at integer indices along an axis. The axes of the indices replace
    that axis.

    Indices must be at least 0 and below the extent; this is not checked. Raises TaichiTypeError for
    float indices, and if the axis does not exist.
    """
    k = axis_of("take", axis, x.ndim)
    check_indices("take", indices, "x", x.shape[k])
    end = k + indices.ndim
    return compute(
        (*x.shape[:k], *indices.shape, *x.shape[k + 1 :]),
        lambda *i: x[(*i[:k], indices[i[k:end]], *i[end:])],
        "take",
    )


@operator
def gather(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """Return, for each position in the indices, the element of x at that position, with the index
    in place of the coordinate along `axis`; see `take`. The indices have as many axes as x."""
    k = axis_of("gather", axis, x.ndim)
    check_rank("gather", "indices", indices, x.ndim, f"{x.ndim} axes, as x has")
    check_indices("gather", indices, "x", x.shape[k])
    for axis, (count, extent) in enumerate(zip(indices.shape, x.shape)):
        if axis != k and isinstance(count, int) and isinstance(extent, int) and count > extent:
            refuse("gather", "indices", f"is {indices!r}, which is longer than x along {axis}")
    return compute(indices.shape, lambda *i: x[(*i[:k], indices[i], *i[k + 1 :])], "gather")


@operator
def scatter_add(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Return x with row n of the updates added to its row `indices[n]`: the adjoint of `take`.

    Args:
        x: the tensor to add to.
        indices: integers of shape (count,), below the number of rows of x.
        updates: of shape (count, *x.shape[1:]).

    Raises:
        TaichiTypeError: the arguments do not fit.
    """
    check_least_rank("scatter_add", "x", x, 1, "rows")
    check_rank("scatter_add", "indices", indices, 1, "one axis: a row of x for each update")
    check_extents("scatter_add", "updates", updates, (*indices.shape, *x.shape[1:]))
    check_indices("scatter_add", indices, "x", x.shape[0])
    check_float("scatter_add", "updates", updates)
    added = _scatter(updates, indices, x.shape[0])
    return compute(x.shape, lambda *i: x[i] + added[i], "scatter_add")


@operator
def segment_sum(x: Tensor, segments: Tensor, count: Extent) -> Tensor:
    """Return the sums of the rows of x in each segment, of shape (count, *x.shape[1:]).

    Args:
        x: the rows.
        segments: the segment of each row: integers of shape (rows,), below `count`.
        count: the number of segments.

    Raises:
        TaichiTypeError: the number of entries of `segments` differs from the number of rows.
    """
    check_least_rank("segment_sum", "x", x, 1, "rows")
    check_rank("segment_sum", "segments", segments, 1, "one axis: a segment for each row")
    check_same("segment_sum", "segments and x", segments.shape[0], x.shape[0], "rows and segments")
    check_float("segment_sum", "x", x)
    rows = extent_of("segment_sum", "count", count)
    check_indices("segment_sum", segments, "count", rows, "segments")
    return _scatter(x, segments, rows)


def _scatter(updates: Tensor, indices: Tensor, rows: Extent) -> Tensor:
    """Add updates to the rows that indices name: the adjoint of `take`, which is linear."""
    table = placeholder((rows, *updates.shape[1:]), updates.dtype, "rows")
    (adjoint,) = differentiate(take.function(table, indices), [table], updates)
    result: Tensor = adjoint
    return result


@operator
def one_hot(indices: Tensor, depth: Extent, dtype: TypeLike = float) -> Tensor:
    """Return a tensor with a new last axis of extent `depth` that is 1 at the index and 0
    elsewhere; its type is `default_fp` by default."""
    _check_integers("one_hot", "indices", indices)
    extent, type_ = extent_of("one_hot", "depth", depth), scalar_type(dtype, "one_hot: dtype")
    return compute(
        (*indices.shape, extent),
        lambda *i: select(indices[i[:-1]] == i[-1], cast(1, type_), cast(0, type_)),
        "one_hot",
    )


def _check_integers(caller: str, argument: str, indices: Tensor) -> None:
    if indices.dtype.is_float or indices.dtype.bits == 1:
        raise TaichiTypeError(f"{caller} expected integers as {argument}, got {indices!r}", place())


def check_indices(
    caller: str, indices: Tensor, of: str, extent: Extent, argument: str = "indices"
) -> None:
    """Raise TaichiTypeError for what are no integers, and for those of no elements."""
    _check_integers(caller, argument, indices)
    if is_number(extent, 0) and not is_empty(indices.shape):
        refuse(caller, argument, f"is {indices!r}, but {of} has no elements")
