"""Index axes and their extents: `ti.i`, `ti.ij`, a shape."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mlirad.data_classes import data_class
from mlirad.errors import TaichiRuntimeError

Shape = int | np.integer | Iterable[int]  # as users give it


@data_class(frozen=True)
class Axes:
    """Index axes, like `ti.ij`."""

    numbers: tuple[int, ...]


i, j, k, l = (Axes((n,)) for n in range(4))
NAMED_AXES = {
    name: Axes(tuple("ijkl".index(c) for c in name))
    for name in (
        "i",
        "j",
        "k",
        "l",
        "ij",
        "ik",
        "il",
        "ji",
        "jk",
        "jl",
        "ki",
        "kj",
        "kl",
        "li",
        "lj",
        "lk",
        "ijk",
        "ijl",
        "ikl",
        "jkl",
        "kij",
        "jki",
        "kji",
        "ikj",
        "jik",
        "ijkl",
    )
}


def axes(*numbers: int) -> Axes:
    """Axes by number."""
    return Axes(tuple(numbers))


def sizes_of(shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple. Raises TaichiRuntimeError where an extent is not positive."""
    sizes = (shape,) if isinstance(shape, int | float | np.number) else tuple(shape)
    if any(int(size) != size for size in sizes):
        raise TaichiRuntimeError(f"the extents of a field must be integers, not {sizes}")
    if any(size <= 0 for size in sizes):
        raise TaichiRuntimeError(
            f"Every dimension of a Taichi field should be positive, not {sizes}"
        )
    return tuple(int(size) for size in sizes)
