"""Several tensors as one, and one as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.arguments import checked
from mlirad.te.compute import compute
from mlirad.te.expressions import Expr, Extent, select
from mlirad.te.nn.axes import axis_of, check_extents, check_rank, check_same, known
from mlirad.te.operators import operator
from mlirad.te.places import place
from mlirad.te.tensor import Tensor


@operator
def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one behind the other along an axis. Raises TaichiTypeError for none, and for other
    extents along other axes."""
    first, *others = _several("concat", tensors)
    k = axis_of("concat", axis, first.ndim)
    for one in others:
        check_rank("concat", one, first.ndim, f"tensors of {first.ndim} axes")
        for number, (left, right) in enumerate(zip(first.shape, one.shape)):
            if number != k:
                check_same("concat", left, right, f"extents {number}")
    ends = [first.shape[k]]
    for one in others:
        ends.append(ends[-1] + one.shape[k])

    def element(*i: Expr) -> Expr:
        found: Any = None
        for one, end in reversed(list(zip(tensors, ends))):
            value = one[(*i[:k], _less(i[k], end - one.shape[k]), *i[k + 1 :])]
            found = value if found is None else select(i[k] < end, value, found)
        return found

    return compute((*first.shape[:k], ends[-1], *first.shape[k + 1 :]), element, "concat")


def _less(index: Expr, start: Extent) -> Expr:
    return index if isinstance(start, int) and start == 0 else index - start


@operator
def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along an axis of their own. Raises TaichiTypeError for none, and for
    other shapes."""
    first, *others = _several("stack", tensors)
    k = axis_of("stack", axis, first.ndim + 1)
    for one in others:
        check_extents("stack", one, first.shape, "each tensor")

    def element(*i: Expr) -> Expr:
        at = i[:k] + i[k + 1 :]
        found: Any = tensors[-1][at]
        for number, one in reversed(list(enumerate(tensors[:-1]))):
            found = select(i[k] == number, one[at], found)
        return found

    return compute((*first.shape[:k], len(tensors), *first.shape[k:]), element, "stack")


@checked
def split(x: Tensor, parts: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """So many equal parts of x along an axis, or parts of the extents that are listed. Raises
    TaichiTypeError where these are not all of it."""
    k = axis_of("split", axis, x.ndim)
    extent = known("split", x.shape[k], "as it is split")
    is_count = isinstance(parts, int) and 0 < parts <= max(extent, 1)
    sizes = [extent // parts] * parts if is_count and isinstance(parts, int) else parts
    if isinstance(sizes, int) or sum(sizes) != extent:
        raise TaichiTypeError(f"split: {parts!r} does not split {extent} elements", place())
    found, start = list[Tensor](), 0
    for size in sizes:
        found.append(part(x, start, size, k))
        start += size
    return found


@operator
def part(x: Tensor, start: int, size: int, axis: int = 0) -> Tensor:
    """So many elements along an axis, from one on. Raises TaichiTypeError for what x has not."""
    k = axis_of("part", axis, x.ndim)
    extent = known("part", x.shape[k], "as a part is taken")
    if start < 0 or size < 0 or start + size > extent:
        raise TaichiTypeError(f"part: {x!r} has no {size} elements from {start} on", place())
    shape = (*x.shape[:k], size, *x.shape[k + 1 :])
    return compute(shape, lambda *i: x[(*i[:k], i[k] + start, *i[k + 1 :])], "part")


@operator
def slices(x: Tensor, *which: Any) -> Tensor:
    """`x[which]` as NumPy writes it: a `slice` for each of the first axes, also backwards, or an
    integer, which takes the axis away. Raises TaichiTypeError for other things, and for slices of
    extents that a call decides which are not all of them."""
    given = [*which, *[slice(None)] * (x.ndim - len(which))]
    if len(given) > x.ndim:
        raise TaichiTypeError(f"slices: {len(given)} slices of {x!r}", place())
    starts: list[tuple[int, int | None]] = []
    shape: list[Extent] = []
    for one, extent in zip(given, x.shape):
        if isinstance(one, slice) and one == slice(None):
            starts.append((0, 1))
            shape.append(extent)
            continue
        size = known("slices", extent, "as it is sliced")
        if isinstance(one, slice):
            chosen = range(size)[one]
            starts.append((chosen.start, chosen.step))
            shape.append(len(chosen))
        else:
            starts.append((axis_of("slices", one, size), None))

    def element(*indices: Expr) -> Expr:
        rest = iter(indices)
        return x[tuple(at if step is None else next(rest) * step + at for at, step in starts)]

    return compute(tuple(shape), element, "slices")


def _several(what: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    if not tensors or not all(isinstance(one, Tensor) for one in tensors):
        raise TaichiTypeError(f"{what} takes a list of tensors", place())
    return tensors
