"""Shapes with an extent of -1, which is what is left of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from mlirad.te.definitions.arguments import refuse, shown_value
from mlirad.te.expressions import Call, Extent, Number
from mlirad.te.nn.geometry.per_axis import shown_shape
from mlirad.te.tensor import Shape, Tensor, checked_shape, same_shape


def complete_shape(caller: str, x: Tensor, shape: Any) -> Shape:
    """A shape for the elements of x. Raises TaichiTypeError for -1 twice, or if no extent fits."""
    extents = list(shape) if isinstance(shape, tuple | list) else [shape]
    holes = [k for k, extent in enumerate(extents) if isinstance(extent, int) and extent == -1]
    if not holes:
        return checked_shape(extents, f"{caller}: shape")
    if len(holes) > 1:
        refuse(caller, "shape", f"is {shown_value(shape)}: at most one extent may be -1")
    front, behind = extents[: holes[0]], extents[holes[0] + 1 :]
    explicit = checked_shape([*front, *behind], f"{caller}: shape")
    extent = _remaining_extent(x.shape, explicit)
    if extent is None:
        refuse(caller, "shape", f"is {shown_value(shape)}: no extent in place of -1 fits {x!r}")
    return (*explicit[: len(front)], extent, *explicit[len(front) :])


def _remaining_extent(shape: Shape, explicit: Shape) -> Extent | None:
    """The quotient of the numbers of elements of two shapes, if it is known."""
    sizes = [extent for extent in shape if not isinstance(extent, int)]
    for other in explicit:
        if not isinstance(other, int):
            matches = [k for k, size in enumerate(sizes) if same_shape([size], [other])]
            if not matches:
                return None
            del sizes[matches[0]]
    total, divisor = (
        product([e for e in extents if isinstance(e, int)])[1] for extents in (shape, explicit)
    )
    if not divisor or total % divisor or (total and len(sizes) > 1):
        return None
    return times(sizes[0], total // divisor) if sizes and total else total // divisor


def times(extent: Extent, count: int) -> Extent:
    """A multiple of an extent."""
    return extent if count == 1 else extent * count


def product(extents: Sequence[Extent]) -> tuple[Extent, int]:
    """A product of extents: the size of a call in the first of them, 1 if there is none, and the
    rest."""
    size: Extent = 1
    count = 1
    for extent in extents:
        while isinstance(extent, Call) and extent.name == "mul" and _factor(extent) is not None:
            count *= _factor(extent) or 0
            extent = extent.arguments[0]
        if isinstance(extent, int):
            count *= extent
        else:
            size = extent
    return size, count


def _factor(extent: Call) -> int | None:
    """The number that a size is multiplied by."""
    last = extent.arguments[1]
    return int(last.value) if isinstance(last, Number) else None


def refuse_shape(caller: str, left: Shape, right: Shape) -> NoReturn:
    """Raise TaichiTypeError for a shape that elements do not fill."""
    refuse(
        caller,
        "x and shape:",
        f"{shown_shape(left)} and {shown_shape(right)} have different numbers of elements, or "
        "merge a size that is not known with extents before it",
    )
