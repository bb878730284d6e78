"""Elements that data choose: read by index, or added by index."""

from __future__ import annotations

from mlirad.errors import TaichiTypeError
from mlirad.te.compute import compute, placeholder
from mlirad.te.differentiate import differentiate
from mlirad.te.expressions import Extent, cast, scalar_type, select
from mlirad.te.nn.axes import axis_of, check_extents, check_rank, check_same
from mlirad.te.operators import operator
from mlirad.te.places import place
from mlirad.te.tensor import Tensor, checked_extent
from mlirad.types import TypeLike, f32


@operator
def embedding(indices: Tensor, table: Tensor) -> Tensor:
    """The row of a table (rows, width) for each of some integers below the number of rows, of any
    shape: (..., width). Raises TaichiTypeError for others."""
    check_rank("embedding", table, 2, "a table (rows, width)")
    _check_integers("embedding", indices)
    shape = (*indices.shape, table.shape[1])
    return compute(shape, lambda *i: table[indices[i[:-1]], i[-1]], "embedding")


@operator
def take(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """What is at some integers, of any shape, along an axis: their axes take its place. They are
    from 0 up to the extent, which is not looked at. Raises TaichiTypeError for floats, and where
    there is no such axis."""
    k = axis_of("take", axis, x.ndim)
    _check_integers("take", indices)
    end = k + indices.ndim
    return compute(
        (*x.shape[:k], *indices.shape, *x.shape[k + 1 :]),
        lambda *i: x[(*i[:k], indices[i[k:end]], *i[end:])],
        "take",
    )


@operator
def gather(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """For each place of the indices, which have as many axes as x, what is at their integer along
    an axis, and at their place along the others; see `take`."""
    k = axis_of("gather", axis, x.ndim)
    check_rank("gather", indices, x.ndim, f"indices of {x.ndim} axes")
    _check_integers("gather", indices)
    return compute(indices.shape, lambda *i: x[(*i[:k], indices[i], *i[k + 1 :])], "gather")


@operator
def scatter_add(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """x, and row n of the updates added to its row `indices[n]`: the other way round of `take`. The
    indices (count,) are from 0 up to the rows of x, updates are (count, *x.shape[1:]). Raises
    TaichiTypeError for others."""
    check_rank("scatter_add", indices, 1, "a row for each update")
    check_extents("scatter_add", updates, (*indices.shape, *x.shape[1:]), "updates")
    added = _added(updates, indices, x.shape[0])
    return compute(x.shape, lambda *i: x[i] + added[i], "scatter_add")


@operator
def segment_sum(x: Tensor, segments: Tensor, count: Extent) -> Tensor:
    """The sums of the rows of x by the number of their segment, (rows,) integers below `count`:
    (count, *x.shape[1:]). Raises TaichiTypeError for another number of segments."""
    check_rank("segment_sum", segments, 1, "a segment for each row")
    check_same("segment_sum", segments.shape[0], x.shape[0], "rows and segments")
    return _added(x, segments, checked_extent(count, "te.nn.segment_sum"))


def _added(updates: Tensor, indices: Tensor, rows: Extent) -> Tensor:
    """What reading rows gives back to them: the adjoint of `take`, which is linear."""
    table = placeholder((rows, *updates.shape[1:]), updates.dtype, "rows")
    (found,) = differentiate(take.function(table, indices), [table], updates)
    made: Tensor = found
    return made


@operator
def one_hot(indices: Tensor, depth: Extent, dtype: TypeLike = f32) -> Tensor:
    """1 where the last axis, of extent `depth`, is the integer, else 0."""
    _check_integers("one_hot", indices)
    extent, type_ = checked_extent(depth, "te.nn.one_hot"), scalar_type(dtype)
    return compute(
        (*indices.shape, extent),
        lambda *i: select(indices[i[:-1]] == i[-1], cast(1, type_), cast(0, type_)),
        "one_hot",
    )


def _check_integers(what: str, indices: Tensor) -> None:
    if indices.dtype.is_float or indices.dtype.bits == 1:
        raise TaichiTypeError(f"{what} takes indices of integers, not {indices!r}", place())
