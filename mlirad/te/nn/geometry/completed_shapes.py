"""Shapes with an extent of -1, which is what is left of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from mlirad.te.definitions.arguments import refuse, shown
from mlirad.te.expressions import Call, Extent, Number
from mlirad.te.nn.geometry.axes import shown_shape
from mlirad.te.tensor import Shape, Tensor, checked_shape, same_shape


def completed(what: str, x: Tensor, shape: Any) -> Shape:
    """A shape for the elements of x. Raises TaichiTypeError for -1 twice, or if no extent fits."""
    given = list(shape) if isinstance(shape, tuple | list) else [shape]
    holes = [k for k, one in enumerate(given) if isinstance(one, int) and one == -1]
    if not holes:
        return checked_shape(given, f"{what}: shape")
    if len(holes) > 1:
        refuse(what, "shape", f"is {shown(shape)}: one extent at most is -1")
    front, behind = given[: holes[0]], given[holes[0] + 1 :]
    others = checked_shape([*front, *behind], f"{what}: shape")
    extent = _left(x.shape, others)
    if extent is None:
        refuse(what, "shape", f"is {shown(shape)}: no extent for -1 fits {x!r}")
    return (*others[: len(front)], extent, *others[len(front) :])


def _left(shape: Shape, others: Shape) -> Extent | None:
    """The quotient of the numbers of elements of two shapes, if it is known."""
    sizes = [one for one in shape if not isinstance(one, int)]
    for other in others:
        if not isinstance(other, int):
            known = [k for k, one in enumerate(sizes) if same_shape([one], [other])]
            if not known:
                return None
            del sizes[known[0]]
    whole, part = (product([e for e in one if isinstance(e, int)])[1] for one in (shape, others))
    if not part or whole % part or (whole and len(sizes) > 1):
        return None
    return times(sizes[0], whole // part) if sizes and whole else whole // part


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


def refuse_shape(what: str, left: Shape, right: Shape) -> NoReturn:
    """Raise TaichiTypeError for a shape that elements do not fill."""
    refuse(
        what,
        "x and shape:",
        f"{shown_shape(left)} and {shown_shape(right)} have other numbers of elements, or join a "
        "size that is not known with others in front of it",
    )
