"""Pools: what windows that slide over images come down to, and what they give back to images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.elementary import sqrt
from mlirad.te.definitions.functions import maximum, minimum
from mlirad.te.definitions.operators import Operator, named_operator, operator
from mlirad.te.definitions.reductions import greatest
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.derivation.differentiate import check_float, differentiate
from mlirad.te.expressions import Axis, Expr
from mlirad.te.nn.convolutions import SPACE, has_channels_last, put_together, taken_apart
from mlirad.te.nn.geometry.per_axis import check_elements, check_extents, check_rank
from mlirad.te.nn.geometry.windows import PADDINGS, Padding, PerAxis, Windows, windows
from mlirad.te.nn.statistics import count_of
from mlirad.te.tensor import Tensor

# of an element of a window, whether it is no padding, the indices of the window
Combine = Callable[[Expr, Expr | None, Sequence[Expr]], Expr]


@dataclass(frozen=True)
class Pool:
    """Windows over the images of a tensor."""

    name: str
    x: Tensor
    slid: Windows
    is_last: bool
    axes: tuple[Axis, ...]

    def reduce(self, combine: Combine) -> Tensor:
        """Reduce each window to a number."""
        batch, channels, _ = taken_apart(self.x.shape, self.is_last)

        def element(*indices: Expr) -> Expr:
            n, c, window = taken_apart(indices, self.is_last)
            at = self.slid.at(window, self.axes)
            value = self.x[put_together(n, c, at, self.is_last)]
            return combine(value, self.slid.inside(at), window)

        shape = put_together(batch, channels, self.slid.shape, self.is_last)
        return compute(shape, element, self.name)


def _pool(
    name: str,
    rank: int,
    x: Tensor,
    kernel: PerAxis,
    stride: PerAxis | None,
    padding: Padding,
    dilation: PerAxis,
    layout: str,
    images: str = "x",
) -> Pool:
    is_last = has_channels_last(name, layout, rank)
    check_rank(name, images, x, rank + 2, f"images of {rank + 2} axes ({layout})")
    check_elements(name, x, range(1, rank + 1) if is_last else range(2, rank + 2), "no elements")
    _, _, space = taken_apart(x.shape, is_last)
    slid = windows(name, space, kernel, kernel if stride is None else stride, dilation, padding)
    for size, gap, *ends in zip(slid.kernel, slid.dilation, slid.before, slid.behind):
        if max(ends) > (size - 1) * gap:
            why = f"has windows that contain only padding, with kernel={kernel!r}"
            refuse(name, f"padding={padding!r}", why)
    return Pool(name, x, slid, is_last, tuple(slid.axes()))


def _as_operator(function: Callable[..., Tensor], name: str, rank: int, sentence: str) -> Operator:
    return named_operator(
        function,
        name,
        f"Return {sentence}\n\nArgs:\n"
        f"    x: of shape (batch, channels, {', '.join(SPACE[rank])}); channels come last with "
        f"`layout='N{SPACE[rank]}C'`.\n"
        "    kernel: the extents of a window.\n"
        "    stride: the distance between windows, by default the kernel.\n"
        f"    padding: {PADDINGS}\n\n"
        "Raises:\n    TaichiTypeError: no window fits, or a window has padding only.",
    )


def _max_pool(rank: int) -> Operator:
    name = f"max_pool{rank}d"

    def apply(
        x: Tensor,
        kernel: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        layout: str = f"NC{SPACE[rank]}",
    ) -> Tensor:
        pool = _pool(name, rank, x, kernel, stride, padding, dilation, layout)
        return pool.reduce(lambda value, inside, _: greatest(value, pool.axes, inside))

    return _as_operator(
        apply,
        name,
        rank,
        "the maximum of each window. In a tie the first maximum gets the derivative.",
    )


def _avg_pool(rank: int) -> Operator:
    name = f"avg_pool{rank}d"

    def apply(
        x: Tensor,
        kernel: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        layout: str = f"NC{SPACE[rank]}",
        count_padding: bool = True,
    ) -> Tensor:
        pool = _pool(name, rank, x, kernel, stride, padding, 1, layout)

        def mean(value: Expr, inside: Expr | None, window: Sequence[Expr]) -> Expr:
            weight = 1.0 / _count(pool.slid, window, value, count_padding)
            return sum_over(value * weight, pool.axes, inside)

        return pool.reduce(mean)

    return _as_operator(
        apply,
        name,
        rank,
        "the mean of each window. Padding counts as zeros, or with "
        "`count_padding=False` not at all.",
    )


def _count(slid: Windows, window: Sequence[Expr], like: Expr, count_padding: bool) -> Expr | int:
    """Return the number of points of a window that count."""
    if count_padding or not slid.is_padded:
        return count_of(slid.kernel, like)
    starts = [i * step - first for i, step, first in zip(window, slid.stride, slid.before)]
    counts = [
        minimum(start + size, extent) - maximum(start, 0)
        for start, size, extent in zip(starts, slid.kernel, slid.extents)
    ]
    return count_of(counts, like)


def _l2_pool(rank: int) -> Operator:
    name = f"l2_pool{rank}d"

    def apply(
        x: Tensor,
        kernel: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        layout: str = f"NC{SPACE[rank]}",
    ) -> Tensor:
        pool = _pool(name, rank, x, kernel, stride, padding, 1, layout)
        return pool.reduce(
            lambda value, inside, _: sqrt(sum_over(value * value, pool.axes, inside))
        )

    return _as_operator(
        apply, name, rank, "the Euclidean norm of each window. Its derivative at 0 is NaN."
    )


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))
l2_pool1d, l2_pool2d, l2_pool3d = map(_l2_pool, (1, 2, 3))


@operator
def max_unpool2d(
    x: Tensor, images: Tensor, kernel: PerAxis, stride: PerAxis | None = None, padding: Padding = 0
) -> Tensor:
    """Put each element of x where `images` has the maximum of its window, and 0 elsewhere (Zeiler
    and Fergus, 2014). `max_pool2d` of the images has the shape of x. Elements that fall on one
    position are added. Raises TaichiTypeError if the shapes do not fit."""
    check_rank("max_unpool2d", "images", images, 4, "images of 4 axes (NCHW)")
    check_float("max_unpool2d", "images", images)
    pool = _pool("max_unpool2d", 2, images, kernel, stride, padding, 1, "NCHW", "images")
    pooled = pool.reduce(lambda value, inside, _: greatest(value, pool.axes, inside))
    check_extents("max_unpool2d", "x", x, pooled.shape, "x: the pool of the images")
    (adjoint,) = differentiate(pooled, [images], x)
    result: Tensor = adjoint
    return result
