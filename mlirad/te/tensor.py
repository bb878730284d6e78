"""Tensors: what definitions give, and what expressions read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiIndexError, TaichiTypeError
from mlirad.te.expressions import (
    INDEX,
    Axis,
    Expr,
    Extent,
    Number,
    Read,
    cast,
    expr,
    is_of_sizes,
    same_extent,
    shown_extent,
)
from mlirad.te.places import place
from mlirad.types import DataType

Shape = tuple[Extent, ...]
_MOST = (1 << 63) // 16  # elements that memory has addresses for


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: an argument of a call, or one that an expression defines.

    `shape` has integers, and expressions of sizes (`te.var`) that a call determines.
    """

    value: ir.Value
    shape: Shape
    dtype: DataType
    name: str
    place: SourceLocation
    axes: tuple[tuple[str, Axis], ...] = ()  # its own, then those that it reduces
    element_type_of_te = True

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Expr:
        """An element, for as many indices as there are axes.

        Raises TaichiIndexError for another number of them, TaichiTypeError for an index that is no
        integer.
        """
        listed = indices if isinstance(indices, tuple) else (indices,)
        if len(listed) != self.ndim:
            raise TaichiIndexError(
                f"tensor '{self.name}' has {self.ndim} axes, but is read with {len(listed)} "
                f"{'index' if len(listed) == 1 else 'indices'}",
                place(),
            )
        numbers = [expr(entry) for entry in listed]
        for axis, number in enumerate(numbers):
            if number.dtype.is_float or number.dtype.bits == 1:
                raise TaichiTypeError(
                    f"index {axis} of tensor '{self.name}' is of type {number.dtype}, not an "
                    "integer",
                    place(),
                )
        return Read(self.dtype, self, tuple(cast(number, INDEX) for number in numbers))

    def __call__(self, *indices: Any) -> Expr:
        return self[indices]

    def __iter__(self) -> Any:
        raise TaichiTypeError(
            f"tensor '{self.name}' cannot be iterated over: te.compute defines all "
            "elements at once",
            place(),
        )

    def __repr__(self) -> str:
        extents = ", ".join(map(shown_extent, self.shape)) + "," * (self.ndim == 1)
        return f"Tensor({self.name}, ({extents}), {self.dtype})"


def same_shape(left: Sequence[Extent], right: Sequence[Extent]) -> bool:
    """Return whether two shapes are written alike."""
    return len(left) == len(right) and all(map(same_extent, left, right))


def checked_shape(shape: Any, caller: str, of: str = "") -> Shape:
    """Return a shape that a user gave, as a tuple: `caller` names function and argument. Raises
    TaichiTypeError for what is none."""
    listed: Sequence[Any] = shape if isinstance(shape, tuple | list) else (shape,)
    extents = tuple(checked_extent(extent, caller, of) for extent in listed)
    if prod(extent for extent in extents if isinstance(extent, int)) > _MOST:
        raise TaichiTypeError(f"{caller}{of} has more elements than an array can have", place())
    return extents


def checked_extent(extent: Any, caller: str, of: str = "") -> Extent:
    """Return an extent that a user gave. Raises TaichiTypeError for what is none."""
    if isinstance(extent, Number):
        extent = extent.value
    if isinstance(extent, Expr):
        if extent.dtype.is_float or not is_of_sizes(extent):
            raise TaichiTypeError(
                f"{caller}: extent {shown_extent(extent)}{of} contains more than sizes and "
                "integers",
                place(),
            )
        return extent
    if isinstance(extent, bool) or not _is_integer(extent):
        raise TaichiTypeError(f"{caller}: extent {extent!r}{of} is not an integer", place())
    number = index(extent)
    if number < 0:
        raise TaichiTypeError(f"{caller}: extent {number}{of} is negative", place())
    if number > _MOST:
        raise TaichiTypeError(
            f"{caller}: extent {number}{of} is more than an array can have", place()
        )
    return number


def _is_integer(extent: Any) -> bool:
    """Return whether Python takes a value as an index: arrays have `__index__`, and most raise."""
    try:
        index(extent)
    except TypeError:
        return False
    return True
