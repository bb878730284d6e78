"""Operators that move elements to other places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mlirad.te.definitions.arguments import refuse, shown_value
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import (
    Expr,
    Extent,
    expr,
    is_empty,
    is_number,
    same_extent,
    select,
    shown_extent,
)
from mlirad.te.nn.geometry.completed_shapes import complete_shape, product, refuse_shape, times
from mlirad.te.nn.geometry.per_axis import (
    axes_of,
    axis_of,
    check_least_rank,
    extent_of,
    fixed_extent,
    shown_shape,
)
from mlirad.te.tensor import Shape, Tensor, checked_shape, same_shape

_FAR = 1 << 62  # no diagonal of a tensor


@operator
def reshape(x: Tensor, shape: Any) -> Tensor:
    """Return the elements in the same order, the last axis fastest, in another shape. An extent of
    -1 is computed from the number of elements.

    A size that a call determines stays an axis, or is merged with the extents after it. Raises
    TaichiTypeError if the number of elements differs, or -1 occurs twice.
    """
    return reshape_elements("reshape", x, complete_shape("reshape", x, shape))


def reshape_elements(caller: str, x: Tensor, shape: Shape) -> Tensor:
    """The elements in another shape, for the operator `caller`."""
    if is_empty(x.shape) and is_empty(shape):
        return compute(shape, lambda *_: x[(0,) * x.ndim], caller)
    runs = _runs(caller, x.shape, shape)

    def element(*indices: Expr) -> Expr:
        pending = [index for index, extent in zip(indices, shape) if not is_number(extent, 1)]
        at: list[Expr] = []
        for before, behind in runs:
            indices_of_run = [pending.pop(0) for _ in behind]
            at += (
                indices_of_run
                if before is behind
                else _split(_join_indices(indices_of_run, behind), before)
            )
        return x[tuple(0 if is_number(extent, 1) else at.pop(0) for extent in x.shape)]

    return compute(shape, element, caller)


def _runs(caller: str, left: Shape, right: Shape) -> list[tuple[list[Extent], list[Extent]]]:
    """Runs of axes with as many elements, the shortest ones, without those of extent 1; sizes of a
    call come first in them."""
    runs: list[tuple[list[Extent], list[Extent]]] = []
    first, second = ([e for e in shape if not is_number(e, 1)] for shape in (left, right))
    while first or second:
        before, behind = first[:1], second[:1]
        del first[:1], second[:1]
        while not same_shape(before, behind):
            (size, count), (other_size, other_count) = map(product, (before, behind))
            if not same_extent(size, other_size):
                refuse_shape(caller, left, right)
            if count == other_count:
                break
            source, target = (first, before) if count < other_count else (second, behind)
            if not source or not isinstance(source[0], int):
                refuse_shape(caller, left, right)
            target.append(source.pop(0))
        runs.append((behind if same_shape(before, behind) else before, behind))
    return runs


def _join_indices(indices: Sequence[Expr], extents: Sequence[Extent]) -> Expr:
    total = expr(0) if not indices else indices[0]
    for index, extent in zip(indices[1:], extents[1:]):
        total = total * extent + index
    return total


def _split(index_of_run: Expr, extents: Sequence[Extent]) -> list[Expr]:
    indices: list[Expr] = []
    for number, extent in enumerate(extents):
        stride = prod(extents[number + 1 :])
        index = index_of_run // stride if stride > 1 else index_of_run
        indices.append(index % extent if number else index)
    return indices


@operator
def flatten(x: Tensor, start: int = 1) -> Tensor:
    """Merge all axes from `start` on. Raises TaichiTypeError if there is no such axis, and if an
    axis after the first of them has a size that a call determines."""
    first = axis_of("flatten", start, x.ndim, "start")
    behind = [
        fixed_extent("flatten", "x", n, "except the first that is merged")
        for n in x.shape[first + 1 :]
    ]
    return reshape_elements("flatten", x, (*x.shape[:first], times(x.shape[first], prod(behind))))


@operator
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Permute the axes: axis k of the result is axis `axes[k]` of x. By default the order is
    reversed. Raises TaichiTypeError if `axes` is not a permutation."""
    order = list(range(x.ndim))[::-1] if axes is None else list(axes)
    if len(order) != x.ndim:
        refuse("transpose", "axes", f"is {shown_value(axes)}, expected an order of {x.ndim} axes")
    order = [axis_of("transpose", axis, x.ndim, "axes") for axis in order]
    axes_of("transpose", order, x.ndim, "axes")
    positions = [order.index(k) for k in range(x.ndim)]
    shape = tuple(x.shape[k] for k in order)
    return compute(shape, lambda *i: x[tuple(i[k] for k in positions)], "transpose")


@operator
def expand_dims(x: Tensor, axis: int) -> Tensor:
    """Insert an axis of extent 1, which is axis `axis` of the result."""
    at = axis_of("expand_dims", axis, x.ndim + 1)
    shape = (*x.shape[:at], 1, *x.shape[at:])
    return compute(shape, lambda *i: x[i[:at] + i[at + 1 :]], "expand_dims")


@operator
def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    """Remove some axes of extent 1, or all of them. Raises TaichiTypeError for an axis of another
    extent."""
    ones = [k for k in range(x.ndim) if isinstance(x.shape[k], int) and x.shape[k] == 1]
    gone = ones if axis is None else axes_of("squeeze", axis, x.ndim)
    for k in gone:
        if k not in ones:
            why = f"names axis {k} of x, of extent {shown_extent(x.shape[k])}, not 1"
            refuse("squeeze", "axis", why)
    remaining = [k for k in range(x.ndim) if k not in gone]

    def element(*indices: Expr) -> Expr:
        index_of = dict(zip(remaining, indices))
        return x[tuple(index_of.get(k, expr(0)) for k in range(x.ndim))]

    return compute(tuple(x.shape[k] for k in remaining), element, "squeeze")


@operator
def broadcast_to(x: Tensor, shape: Any) -> Tensor:
    """Repeat x along new leading axes, and along axes of extent 1. Raises TaichiTypeError if
    `shape` does not end in the shape of x."""
    target = checked_shape(shape, "broadcast_to: shape")
    front = len(target) - x.ndim
    is_one = [is_number(extent, 1) for extent in x.shape]
    if front < 0 or not all(
        spreads or same_shape([extent], [other])
        for spreads, extent, other in zip(is_one, x.shape, target[max(front, 0) :])
    ):
        why = f"do not match: {x!r} cannot become {shown_shape(target)}"
        refuse("broadcast_to", "x and shape", why)
    return compute(
        target,
        lambda *i: x[tuple(0 if spreads else index for spreads, index in zip(is_one, i[front:]))],
        "broadcast_to",
    )


@operator
def roll(x: Tensor, shift: int, axis: int = 0) -> Tensor:
    """Shift the elements along an axis; those that leave at the end enter at the start. Raises
    TaichiTypeError if the extent is not an integer."""
    k = axis_of("roll", axis, x.ndim)
    extent = fixed_extent("roll", "x", x.shape[k], "because elements wrap around")
    turns = max(extent, 1)
    back = -shift % turns
    return compute(x.shape, lambda *i: x[(*i[:k], (i[k] + back) % turns, *i[k + 1 :])], "roll")


@operator
def repeat(x: Tensor, times: int, axis: int = 0) -> Tensor:
    """Repeat each element along an axis."""
    k = axis_of("repeat", axis, x.ndim)
    count = max(_times("repeat", times), 1)
    shape = (*x.shape[:k], extent_of("repeat", "times", x.shape[k] * times), *x.shape[k + 1 :])
    return compute(shape, lambda *i: x[(*i[:k], i[k] // count, *i[k + 1 :])], "repeat")


@operator
def tile(x: Tensor, times: Sequence[int]) -> Tensor:
    """Repeat the whole tensor along each axis; the extents must be integers. Raises TaichiTypeError
    if the number of axes differs."""
    if len(times) != x.ndim:
        refuse("tile", "times", f"is {shown_value(times)}, expected one for each of {x.ndim} axes")
    extents = [
        max(fixed_extent("tile", "x", extent, "because elements wrap around"), 1)
        if _times("tile", count) > 1
        else extent
        for extent, count in zip(x.shape, times)
    ]
    return compute(
        tuple(extent_of("tile", "times", e * count) for e, count in zip(x.shape, times)),
        lambda *i: x[
            tuple(index if n < 2 else index % e for index, e, n in zip(i, extents, times))
        ],
        "tile",
    )


def _times(caller: str, count: Any) -> int:
    if not isinstance(count, int) or count < 0:
        refuse(caller, "times", f"has {count!r}, expected an integer of at least 0")
    return count


@operator
def triangle(x: Tensor, diagonal: int = 0, is_upper: bool = False) -> Tensor:
    """Set the elements above a diagonal of the last two axes to zero, or with `is_upper` those
    below it. On diagonal k the column is the row plus k."""
    check_least_rank("triangle", "x", x, 2, "2 axes at least")
    least = max(min(diagonal, _FAR), -_FAR)

    def element(*i: Expr) -> Expr:
        distance = i[-1] - i[-2]
        inside = distance >= least if is_upper else distance <= least
        return select(inside, x[i], 0)

    return compute(x.shape, element, "triangle")
