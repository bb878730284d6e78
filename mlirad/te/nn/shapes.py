"""The same elements, in other places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.compute import compute
from mlirad.te.expressions import Expr, Extent, expr, select
from mlirad.te.nn.axes import axes_of, axis_of, check_least_rank, known
from mlirad.te.operators import operator
from mlirad.te.places import place
from mlirad.te.tensor import Shape, Tensor, checked_shape, same_shape, shown_extent


@operator
def reshape(x: Tensor, shape: Any) -> Tensor:
    """The elements in the same order, the last axis fastest, in another shape.

    Extents that a call decides stay axes of their own. Raises TaichiTypeError for a shape of
    another number of elements.
    """
    wanted = checked_shape(shape, "te.nn.reshape")
    parts = _parts(x.shape, wanted)

    def element(*indices: Expr) -> Expr:
        rest = list(indices)
        found: list[Expr] = []
        for before, behind in parts:
            own = [rest.pop(0) for _ in behind]
            found += own if before is behind else _split(_joined(own, behind), before)
        return x[tuple(found)]

    return compute(wanted, element, "reshape")


def _parts(left: Shape, right: Shape) -> list[tuple[list[Extent], list[Extent]]]:
    """Runs of axes with as many elements, the shortest ones."""
    parts: list[tuple[list[Extent], list[Extent]]] = []
    rest, other = list(left), list(right)
    while rest or other:
        before, behind = rest[:1], other[:1]
        del rest[:1], other[:1]
        while not same_shape(before, behind):
            if any(not isinstance(one, int) for one in (*before, *behind)):
                raise _no_shape(left, right)
            if prod(before) == prod(behind):
                break
            source, target = (rest, before) if prod(before) < prod(behind) else (other, behind)
            if not source:
                raise _no_shape(left, right)
            target.append(source.pop(0))
        parts.append((behind if same_shape(before, behind) else before, behind))
    return parts


def _no_shape(left: Shape, right: Shape) -> TaichiTypeError:
    shown = [", ".join(map(shown_extent, shape)) for shape in (left, right)]
    return TaichiTypeError(
        f"te.nn.reshape: ({shown[0]}) and ({shown[1]}) have other numbers of elements, or join a "
        "size that is not known with others",
        place(),
    )


def _joined(indices: Sequence[Expr], extents: Sequence[Extent]) -> Expr:
    total = expr(0) if not indices else indices[0]
    for index, extent in zip(indices[1:], extents[1:]):
        total = total * extent + index
    return total


def _split(whole: Expr, extents: Sequence[Extent]) -> list[Expr]:
    found: list[Expr] = []
    for number, extent in enumerate(extents):
        stride = prod(extents[number + 1 :])
        index = whole // stride if stride > 1 else whole
        found.append(index % extent if number else index)
    return found


@operator
def flatten(x: Tensor, start: int = 1) -> Tensor:
    """One axis of all from the axis `start` on. Raises TaichiTypeError where there is none."""
    first = axis_of("flatten", start, x.ndim)
    behind = [known("flatten", extent, "as it is joined with others") for extent in x.shape[first:]]
    return reshape.function(x, (*x.shape[:first], prod(behind)))


@operator
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Axis k of the result is axis `axes[k]` of x; without `axes`, their order is turned. Raises
    TaichiTypeError for what is no order of the axes."""
    order = list(range(x.ndim))[::-1] if axes is None else list(axes)
    if len(order) != x.ndim:
        raise TaichiTypeError(f"transpose: axes={axes!r} does not order {x.ndim} axes", place())
    order = [axis_of("transpose", axis, x.ndim) for axis in order]
    axes_of("transpose", order, x.ndim)
    own = [order.index(k) for k in range(x.ndim)]
    shape = tuple(x.shape[k] for k in order)
    return compute(shape, lambda *i: x[tuple(i[k] for k in own)], "transpose")


@operator
def expand_dims(x: Tensor, axis: int) -> Tensor:
    """An axis more, of extent 1, which is `axis` in the result."""
    at = axis_of("expand_dims", axis, x.ndim + 1)
    shape = (*x.shape[:at], 1, *x.shape[at:])
    return compute(shape, lambda *i: x[i[:at] + i[at + 1 :]], "expand_dims")


@operator
def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    """Without some axes of extent 1, or all of them. Raises TaichiTypeError for another extent."""
    ones = [k for k in range(x.ndim) if isinstance(x.shape[k], int) and x.shape[k] == 1]
    gone = ones if axis is None else axes_of("squeeze", axis, x.ndim)
    for k in gone:
        if k not in ones:
            raise TaichiTypeError(f"squeeze: axis {k} is {shown_extent(x.shape[k])} long", place())
    kept = [k for k in range(x.ndim) if k not in gone]

    def element(*indices: Expr) -> Expr:
        own = dict(zip(kept, indices))
        return x[tuple(own.get(k, expr(0)) for k in range(x.ndim))]

    return compute(tuple(x.shape[k] for k in kept), element, "squeeze")


@operator
def broadcast_to(x: Tensor, shape: Any) -> Tensor:
    """x again and again along axes in front, and along those of extent 1. Raises TaichiTypeError
    for a shape that does not end in that of x."""
    wanted = checked_shape(shape, "te.nn.broadcast_to")
    front = len(wanted) - x.ndim
    own = [isinstance(extent, int) and extent == 1 for extent in x.shape]
    if front < 0 or not all(
        one or same_shape([extent], [other])
        for one, extent, other in zip(own, x.shape, wanted[max(front, 0) :])
    ):
        shown = ", ".join(map(shown_extent, wanted))
        raise TaichiTypeError(f"te.nn.broadcast_to: {x!r} does not become ({shown})", place())
    return compute(
        wanted,
        lambda *i: x[tuple(0 if one else index for one, index in zip(own, i[front:]))],
        "broadcast_to",
    )


@operator
def roll(x: Tensor, shift: int, axis: int = 0) -> Tensor:
    """The elements moved along an axis, those beyond the end to the beginning. Its extent is a
    number; raises TaichiTypeError otherwise."""
    k = axis_of("roll", axis, x.ndim)
    extent = known("roll", x.shape[k], "as what is beyond the end begins again")
    back = -shift % extent if extent else 0
    return compute(x.shape, lambda *i: x[(*i[:k], (i[k] + back) % extent, *i[k + 1 :])], "roll")


@operator
def repeat(x: Tensor, times: int, axis: int = 0) -> Tensor:
    """Each element along an axis several times, one after the other."""
    k = axis_of("repeat", axis, x.ndim)
    shape = (*x.shape[:k], x.shape[k] * _times("repeat", times), *x.shape[k + 1 :])
    return compute(shape, lambda *i: x[(*i[:k], i[k] // times, *i[k + 1 :])], "repeat")


@operator
def tile(x: Tensor, times: Sequence[int]) -> Tensor:
    """The whole tensor several times along each axis, whose extents are numbers. Raises
    TaichiTypeError for another number of axes."""
    if len(times) != x.ndim:
        raise TaichiTypeError(f"tile: times={times!r} is not for {x.ndim} axes", place())
    extents = [
        known("tile", extent, "as it begins again") if _times("tile", count) > 1 else extent
        for extent, count in zip(x.shape, times)
    ]
    return compute(
        tuple(extent * count for extent, count in zip(extents, times)),
        lambda *i: x[tuple(own if n == 1 else own % e for own, e, n in zip(i, extents, times))],
        "tile",
    )


def _times(what: str, count: Any) -> int:
    if not isinstance(count, int) or count < 1:
        raise TaichiTypeError(f"{what}: {count!r} is no number of times", place())
    return count


@operator
def triangle(x: Tensor, diagonal: int = 0, is_upper: bool = False) -> Tensor:
    """The last two axes with zeros above a diagonal, or below it; diagonal k is where the column is
    the row plus k."""
    check_least_rank("triangle", x, 2, "matrices")

    def element(*i: Expr) -> Expr:
        distance = i[-1] - i[-2]
        inside = distance >= diagonal if is_upper else distance <= diagonal
        return select(inside, x[i], 0)

    return compute(x.shape, element, "triangle")
