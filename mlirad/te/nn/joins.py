"""Several tensors as one, and one as several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import check_arguments, refuse, shown_value
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import Expr, Extent, by_ranges, cast, common_type, is_number
from mlirad.te.nn.geometry.per_axis import (
    axis_of,
    check_extents,
    check_rank,
    check_same,
    fixed_extent,
)
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

MOST_PARTS = 1024  # of no elements


@operator
def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Join tensors along an axis, in their common type. Raises TaichiTypeError if there are none,
    or if they differ in the extents of other axes."""
    first, *following = _several("concat", tensors)
    k = axis_of("concat", axis, first.ndim)
    for tensor in following:
        check_rank(
            "concat", "tensors", tensor, first.ndim, f"{first.ndim} axes, as the first one has"
        )
        for number, (left, right) in enumerate(zip(first.shape, tensor.shape)):
            if number != k:
                check_same("concat", "tensors", left, right, f"extents {number}")
    dtype = reduce(common_type, [tensor.dtype for tensor in tensors])
    filled = [tensor for tensor in tensors if not is_number(tensor.shape[k], 0)] or [first]
    ends = list(accumulate(tensor.shape[k] for tensor in filled))

    def element(*i: Expr) -> Expr:
        places = [_less(i[k], end - tensor.shape[k]) for tensor, end in zip(filled, ends)]
        values = [tensor[(*i[:k], at, *i[k + 1 :])] for tensor, at in zip(filled, places)]
        return cast(by_ranges(i[k], ends, values), dtype)

    return compute((*first.shape[:k], ends[-1], *first.shape[k + 1 :]), element, "concat")


def _less(index: Expr, start: Extent) -> Expr:
    return index if is_number(start, 0) else index - start


@operator
def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Join tensors of the same shape along a new axis. Raises TaichiTypeError if there are none, or
    if the shapes differ."""
    first, *following = _several("stack", tensors)
    k = axis_of("stack", axis, first.ndim + 1)
    for tensor in following:
        check_extents("stack", "tensors", tensor, first.shape, "tensors: each tensor")

    def element(*i: Expr) -> Expr:
        at = i[:k] + i[k + 1 :]
        value: Expr = by_ranges(i[k], range(1, len(tensors) + 1), [x[at] for x in tensors])
        return value

    return compute((*first.shape[:k], len(tensors), *first.shape[k:]), element, "stack")


@check_arguments
def split(x: Tensor, parts: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Split x along an axis into equal parts, or into parts of the given extents. Raises
    TaichiTypeError if the parts do not add up to the extent."""
    k = axis_of("split", axis, x.ndim)
    extent = fixed_extent("split", "x", x.shape[k], "because it is split")
    is_count = isinstance(parts, int) and 0 < parts <= max(extent, MOST_PARTS)
    sizes = [extent // parts] * parts if is_count and isinstance(parts, int) else parts
    if isinstance(sizes, int) or sum(sizes) != extent or min(sizes, default=0) < 0:
        why = f"{shown_value(parts)} does not split {extent} elements along axis={k}"
        refuse("split", "x and parts:", why)
    pieces, start = list[Tensor](), 0
    for size in sizes:
        pieces.append(part(x, start, size, k))
        start += size
    return pieces


@operator
def part(x: Tensor, start: int, size: int, axis: int = 0) -> Tensor:
    """Return `size` elements of x along an axis, from `start` on. Raises TaichiTypeError if x does
    not have them."""
    k = axis_of("part", axis, x.ndim)
    extent = fixed_extent("part", "x", x.shape[k], "because a part is taken")
    if start < 0 or size < 0 or start + size > extent:
        why = f"{x!r} does not have {size} elements from {start} on along axis={k}"
        refuse("part", "start and size:", why)
    shape = (*x.shape[:k], size, *x.shape[k + 1 :])
    return compute(shape, lambda *i: x[(*i[:k], i[k] + start, *i[k + 1 :])], "part")


@operator
def slices(x: Tensor, *which: Any) -> Tensor:
    """Return `x[which]` as in NumPy: a `slice` for each of the first axes, which may run backwards,
    or an integer, which removes the axis. Raises TaichiTypeError for other indices, and for a
    partial slice of an axis whose extent a call determines."""
    entries = [*which, *[slice(None)] * (x.ndim - len(which))]
    if len(entries) > x.ndim:
        refuse("slices", "which", f"has {len(entries)} entries for {x.ndim} axes")
    starts: list[tuple[int, int | None]] = []
    shape: list[Extent] = []
    for entry, extent in zip(entries, x.shape):
        if isinstance(entry, slice) and entry == slice(None):
            starts.append((0, 1))
            shape.append(extent)
            continue
        size = fixed_extent("slices", "x", extent, "because it is sliced")
        if isinstance(entry, slice):
            chosen = _range_of(entry, size)
            starts.append((chosen.start, chosen.step))
            shape.append(len(chosen))
        else:
            starts.append((axis_of("slices", entry, size, "which", "elements"), None))

    def element(*indices: Expr) -> Expr:
        remaining = iter(indices)
        return x[tuple(at if step is None else next(remaining) * step + at for at, step in starts)]

    return compute(tuple(shape), element, "slices")


def _range_of(which: slice, size: int) -> range:
    try:
        return range(size)[which]
    except (TypeError, ValueError) as error:
        raise TaichiTypeError(f"slices: which is {which}: {error}", place()) from None


def _several(caller: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    if not tensors:
        raise TaichiTypeError(f"{caller} expected a list of at least one tensor", place())
    return tensors
