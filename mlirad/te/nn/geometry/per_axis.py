"""Axes of a tensor that an operator is about, and checks that tensors fit each other.

`caller` is the name of the operator in messages, `argument` that of its parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import refuse, shown_value
from mlirad.te.expressions import Extent, is_empty, shown_extent
from mlirad.te.places import place
from mlirad.te.tensor import Tensor, checked_extent, same_shape


def check_rank(caller: str, argument: str, tensor: Tensor, rank: int, expected: str) -> None:
    """Raise TaichiTypeError for a tensor of another number of axes."""
    if tensor.ndim != rank:
        _refuse_axes(caller, argument, tensor, expected)


def check_least_rank(caller: str, argument: str, tensor: Tensor, rank: int, expected: str) -> None:
    """Raise TaichiTypeError for a tensor of fewer axes."""
    if tensor.ndim < rank:
        _refuse_axes(caller, argument, tensor, expected)


def _refuse_axes(caller: str, argument: str, tensor: Tensor, expected: str) -> NoReturn:
    raise TaichiTypeError(f"{caller} expected {expected} as {argument}, got {tensor!r}", place())


def check_extents(
    caller: str, argument: str, tensor: Tensor, extents: Sequence[Extent], named: str = ""
) -> None:
    """Raise TaichiTypeError for a tensor of another shape."""
    if not same_shape(tensor.shape, extents):
        why = f"must have shape {shown_shape(extents)}, got {tensor!r}"
        refuse(caller, named or f"the {argument}", why)


def check_same(caller: str, arguments: str, left: Extent, right: Extent, named: str) -> None:
    """Raise TaichiTypeError if two extents, one of each of two arguments, are not the same."""
    if not same_shape([left], [right]):
        extents = f"{shown_extent(left)} and {shown_extent(right)}"
        refuse(caller, f"{arguments}:", f"{named} are {extents}")


def check_elements(caller: str, x: Tensor, axes: Sequence[int], why: str) -> None:
    """Raise TaichiTypeError if x has no elements along some of its axes."""
    if is_empty([x.shape[k] for k in axes]):
        refuse(caller, "x", f"is {x!r}: {why}")


def fixed_extent(caller: str, argument: str, extent: Extent, why: str) -> int:
    """An extent that is a number. Raises TaichiTypeError for one that a call decides."""
    if not isinstance(extent, int):
        refuse(caller, f"{argument}:", f"extent {shown_extent(extent)} must be a number, {why}")
    return extent


def extent_of(caller: str, argument: str, extent: Extent) -> Extent:
    """An extent of a result that an argument asks for. Raises TaichiTypeError for what is none."""
    return checked_extent(extent, f"{caller}: {argument}")


def axis_of(caller: str, axis: Any, rank: int, argument: str = "axis", named: str = "axes") -> int:
    """An axis, counted from the end where it is negative. Raises TaichiTypeError for none."""
    is_integer = isinstance(axis, int) and not isinstance(axis, bool)
    if not is_integer or not -rank <= axis < rank:
        refuse(caller, f"{argument}={shown_value(axis)}", f"is not one of {rank} {named}")
    return int(axis % rank)


def axes_of(caller: str, axis: Any, rank: int, argument: str = "axis") -> list[int]:
    """Return axes, all for None, in their order. Raises TaichiTypeError for what are none, or one
    twice."""
    if axis is None:
        return list(range(rank))
    listed = list(axis) if isinstance(axis, tuple | list) else [axis]
    chosen = sorted(axis_of(caller, entry, rank, argument) for entry in listed)
    if len(set(chosen)) < len(chosen):
        refuse(caller, f"{argument}={shown_value(axis)}", "names an axis twice")
    return chosen


def shown_shape(shape: Sequence[Extent]) -> str:
    """A shape as users write it."""
    return f"({', '.join(map(shown_extent, shape))}{',' * (len(shape) == 1)})"
