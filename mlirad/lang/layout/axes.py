"""Index axes and their extents: `ti.i`, `ti.ij`, a shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from mlirad.checks import instance, integer, number
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.types import DataType

Shape = int | np.integer | Iterable[int]  # as users give it


class Axes(msgspec.Struct, frozen=True):
    """Index axes, like `ti.ij`."""

    numbers: tuple[int, ...]


LETTERS = "ijklmnopqrst"  # of the axes, in an order such as "ji"


i, j, k, l = (Axes((n,)) for n in range(4))
NAMED_AXES = {
    name: Axes(tuple("ijkl".index(c) for c in name))
    for name in (
        *("i", "j", "k", "l"),
        *("ij", "ik", "il", "ji", "jk", "jl", "ki", "kj", "kl", "li", "lj", "lk"),
        *("ijk", "ijl", "ikl", "jkl", "kij", "jki", "kji", "ikj", "jik", "ijkl"),
    )
}


def order_of(layout: Sequence[int] | None) -> str | None:
    """Return the order that names axes as a layout does."""
    return None if layout is None else "".join(LETTERS[axis] for axis in layout)


def axes(*numbers: int) -> Axes:
    """Return axes by number, counted from 0. Raises TaichiTypeError or ValueError for anything
    else."""
    return Axes(tuple(integer(axis, "an axis", low=0) for axis in numbers))


def numbers_of(axes_: Axes | Sequence[Axes]) -> tuple[int, ...]:
    """The numbers of axes. Raises TaichiTypeError for what are none."""
    values = axes_ if isinstance(axes_, list | tuple) else [axes_]
    groups = [
        instance(group, Axes, "what a block lies over", "axes such as ti.i or ti.ij")
        for group in values
    ]
    return tuple(number for group in groups for number in group.numbers)


def extents_of(shape: Shape, description: str) -> tuple[Any, ...]:
    """The extents of a shape, or the one that there is. Raises TaichiTypeError for what are no
    numbers, ValueError for such as are not finite."""
    extents: tuple[Any, ...] = (shape,)
    is_number = isinstance(shape, np.ndarray) and not shape.ndim
    if isinstance(shape, Iterable) and not (is_number or isinstance(shape, str)):
        extents = tuple(shape)
    for extent in extents:
        number(extent, description)
    return extents


def element_sizes(shape: Sequence[object]) -> tuple[int, ...]:
    """The sizes of vectors or matrices. Raises TaichiTypeError for what are no integers, ValueError
    where one is not positive."""
    if any(isinstance(size, DataType | type) for size in shape):
        raise TaichiTypeError(
            "the size of a vector or matrix is an integer, and stands before the type: "
            "ti.Vector.field(2, ti.f32, shape=4), ti.Matrix.field(2, 2, ti.f32, shape=4)"
        )
    return tuple(integer(size, "the size of a vector or matrix", low=1) for size in shape)


def sizes_of(shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple. Raises TaichiRuntimeError if an extent is no positive integer,
    TaichiTypeError where one is no number."""
    sizes = extents_of(shape, "an extent of a field")
    if any(int(size) != size for size in sizes):
        raise TaichiRuntimeError(f"expected integers as the extents of a field, got {sizes}")
    if any(size <= 0 for size in sizes):
        raise TaichiRuntimeError(
            f"Every dimension of a Taichi field should be positive, not {sizes}"
        )
    return tuple(int(size) for size in sizes)
