"""Which axes of a tensor an operator is about, and whether tensors fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.expressions import Extent
from mlirad.te.places import place
from mlirad.te.tensor import Tensor, same_shape, shown_extent


def check_rank(what: str, tensor: Tensor, rank: int, named: str) -> None:
    """Raise TaichiTypeError for a tensor of another number of axes."""
    if not isinstance(tensor, Tensor) or tensor.ndim != rank:
        raise TaichiTypeError(f"{what} takes {named}, not {_shown(tensor)}", place())


def check_least_rank(what: str, tensor: Tensor, rank: int, named: str) -> None:
    """Raise TaichiTypeError for a tensor of fewer axes."""
    if tensor.ndim < rank:
        raise TaichiTypeError(f"{what} takes {named}, not {_shown(tensor)}", place())


def check_extents(what: str, tensor: Tensor, wanted: Sequence[Extent], named: str) -> None:
    """Raise TaichiTypeError for a tensor of another shape."""
    if not isinstance(tensor, Tensor) or not same_shape(tensor.shape, wanted):
        shown = ", ".join(map(shown_extent, wanted)) + "," * (len(wanted) == 1)
        raise TaichiTypeError(
            f"{what}: {named} has the shape ({shown}), and {_shown(tensor)} was given", place()
        )


def check_same(what: str, left: Extent, right: Extent, named: str) -> None:
    """Raise TaichiTypeError where two extents are not the same."""
    if not same_shape([left], [right]):
        raise TaichiTypeError(
            f"{what}: {named} are {shown_extent(left)} and {shown_extent(right)}", place()
        )


def known(what: str, extent: Extent, why: str) -> int:
    """An extent that is a number. Raises TaichiTypeError for one that a call decides."""
    if not isinstance(extent, int):
        raise TaichiTypeError(
            f"{what}: extent {shown_extent(extent)} has to be a number, {why}", place()
        )
    return extent


def axis_of(what: str, axis: Any, rank: int) -> int:
    """An axis, counted from the end where it is negative. Raises TaichiTypeError for none."""
    is_integer = isinstance(axis, int) and not isinstance(axis, bool)
    if not is_integer or not -rank <= axis < rank:
        raise TaichiTypeError(f"{what}: axis={axis!r} is no axis of {rank}", place())
    return int(axis % rank)


def axes_of(what: str, axis: Any, rank: int) -> list[int]:
    """Some axes, all for None, in their order. Raises TaichiTypeError for what are none, or one
    twice."""
    if axis is None:
        return list(range(rank))
    given = list(axis) if isinstance(axis, tuple | list) else [axis]
    found = sorted(axis_of(what, one, rank) for one in given)
    if len(set(found)) < len(found):
        raise TaichiTypeError(f"{what}: axis={axis!r} names one twice", place())
    return found


def _shown(one: Any) -> str:
    return repr(one) if isinstance(one, Tensor) else f"a {type(one).__name__}"
