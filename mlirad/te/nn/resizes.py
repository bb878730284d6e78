"""Images of other sizes."""

from __future__ import annotations

from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.functions import maximum, minimum
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import Expr, cast
from mlirad.te.nn.geometry.per_axis import check_elements, check_rank, extent_of, fixed_extent
from mlirad.te.nn.geometry.windows import PerAxis, per_axis
from mlirad.te.tensor import Tensor
from mlirad.types import DataType

IMAGES = "images (batch, channels, height, width)"
NO_IMAGES = "images without elements have no other size"


@operator
def resize_nearest(x: Tensor, size: PerAxis) -> Tensor:
    """Resize images (batch, channels, height, width): element i is the one at `i * extent // size`.
    Raises TaichiTypeError if height or width is not an integer."""
    extents, sizes = _sizes("resize_nearest", x, size)

    def element(n: Expr, c: Expr, *at: Expr) -> Expr:
        return x[(n, c, *(i * e // s for i, e, s in zip(at, extents, sizes)))]

    return compute((*x.shape[:2], *sizes), element, "resize_nearest")


@operator
def resize_bilinear(x: Tensor, size: PerAxis, align_corners: bool = False) -> Tensor:
    """Resize images by interpolation between four elements: at `(i + 1/2) extent / size - 1/2`, or
    with aligned corners at `i (extent - 1) / (size - 1)`. See `resize_nearest`."""
    extents, sizes = _sizes("resize_bilinear", x, size)

    def element(n: Expr, c: Expr, *at: Expr) -> Expr:
        sides = [_between(*place, align_corners, x.dtype) for place in zip(at, extents, sizes)]
        total: Expr | None = None
        for first in sides[0]:
            for second in sides[1]:
                value = x[n, c, first[0], second[0]] * (first[1] * second[1])
                total = value if total is None else total + value
        assert total is not None
        return total

    return compute((*x.shape[:2], *sizes), element, "resize_bilinear")


def _between(
    index: Expr, extent: int, size: int, align_corners: bool, dtype: DataType
) -> list[tuple[Expr, Expr]]:
    """The two elements beside a place, and how much each counts: places are fractions."""
    above, below = index * (extent - 1), max(size - 1, 1)
    if not align_corners:
        above, below = index * (2 * extent) + (extent - size), 2 * size
    low = above // below
    share = cast(above - low * below, dtype) * (1.0 / below)
    return [(maximum(low, 0), 1.0 - share), (minimum(low + 1, extent - 1), share)]


@operator
def upsample(x: Tensor, factor: int, method: str = "nearest") -> Tensor:
    """Enlarge images (batch, channels, height, width) by a factor, by `method="nearest"` or
    "bilinear"; see `resize_bilinear`. Raises TaichiTypeError for other arguments."""
    methods = {"nearest": resize_nearest, "bilinear": resize_bilinear}
    if method not in methods:
        refuse("upsample", "method", f"is {method!r}, expected one of {list(methods)}")
    check_rank("upsample", "x", x, 4, IMAGES)
    check_elements("upsample", x, (2, 3), NO_IMAGES)
    if factor < 1:
        refuse("upsample", "factor", f"is {factor}, expected at least 1")
    extents = [fixed_extent("upsample", "x", extent, "because it grows") for extent in x.shape[2:]]
    sizes = [extent_of("upsample", "factor", extent * factor) for extent in extents]
    return methods[method].function(x, sizes)


@operator
def pixel_shuffle(x: Tensor, factor: int) -> Tensor:
    """Rearrange (batch, channels * factor², height, width) to (batch, channels, height * factor,
    width * factor) (Shi et al., 2016). Raises TaichiTypeError if the number of channels is not a
    multiple of factor²."""
    check_rank("pixel_shuffle", "x", x, 4, IMAGES)
    batch, channels, height, width = x.shape
    count = fixed_extent("pixel_shuffle", "x", channels, "because it is split")
    if factor < 1 or count % factor**2:
        refuse("pixel_shuffle", "factor:", f"{factor}² does not divide {count} channels")

    def element(n: Expr, c: Expr, i: Expr, j: Expr) -> Expr:
        within = i % factor * factor + j % factor
        return x[n, c * factor**2 + within, i // factor, j // factor]

    height, width = (
        extent_of("pixel_shuffle", "factor", extent * factor) for extent in (height, width)
    )
    shape = (batch, count // factor**2, height, width)
    return compute(shape, element, "pixel_shuffle")


@operator
def pixel_unshuffle(x: Tensor, factor: int) -> Tensor:
    """Do the reverse of `pixel_shuffle`. Raises TaichiTypeError if the factor does not divide
    height and width."""
    check_rank("pixel_unshuffle", "x", x, 4, IMAGES)
    batch, channels, *space = x.shape
    sizes = [
        fixed_extent("pixel_unshuffle", "x", extent, "because it is split") for extent in space
    ]
    if factor < 1 or any(extent % factor for extent in sizes):
        refuse("pixel_unshuffle", "factor", f"is {factor}, which does not divide {sizes}")

    def element(n: Expr, c: Expr, i: Expr, j: Expr) -> Expr:
        row, column = c % factor**2 // factor, c % factor
        return x[n, c // factor**2, i * factor + row, j * factor + column]

    height, width = (extent // factor for extent in sizes)
    return compute((batch, channels * factor**2, height, width), element, "pixel_unshuffle")


def _sizes(caller: str, x: Tensor, size: PerAxis) -> tuple[list[int], tuple[int, ...]]:
    check_rank(caller, "x", x, 4, IMAGES)
    check_elements(caller, x, (2, 3), NO_IMAGES)
    why = "because the images change their size"
    extents = [fixed_extent(caller, "x", extent, why) for extent in x.shape[2:]]
    return extents, per_axis(caller, size, 2, "size", 1)
