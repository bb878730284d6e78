"""Pools of which the size of the result is given: adaptive ones, and of whole images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.operators import operator
from mlirad.te.definitions.reductions import greatest
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Axis, Expr, expr
from mlirad.te.nn.geometry.per_axis import check_elements, check_least_rank, fixed_extent
from mlirad.te.nn.geometry.windows import PerAxis, conjunction, per_axis
from mlirad.te.nn.statistics import average, count_of, over
from mlirad.te.tensor import Tensor

IMAGES = "images (batch, channels, ...)"


@operator
def global_avg_pool(x: Tensor) -> Tensor:
    """Return the mean of each channel of x (batch, channels, ...), of shape (batch, channels). The
    mean of no elements is NaN."""
    check_least_rank("global_avg_pool", "x", x, 3, IMAGES)
    return over("global_avg_pool", x, list(range(2, x.ndim)), False, average)


@operator
def global_max_pool(x: Tensor) -> Tensor:
    """Return the maximum of each channel of x (batch, channels, ...), of shape (batch, channels).
    In a tie the first maximum gets the derivative."""
    check_least_rank("global_max_pool", "x", x, 3, IMAGES)
    check_elements("global_max_pool", x, range(2, x.ndim), "a maximum of nothing")
    return over("global_max_pool", x, list(range(2, x.ndim)), False, greatest)


@operator
def adaptive_avg_pool(x: Tensor, size: PerAxis) -> Tensor:
    """Return means over windows of x (batch, channels, ...), `size` of them along each axis after
    the channels.

    Window i of n covers `i * extent // n` up to `(i + 1) * extent / n`, rounded up. Raises
    TaichiTypeError if an extent is not an integer.
    """

    def combine(
        value: Expr, axes: tuple[Axis, ...], inside: Expr | None, counts: list[Expr]
    ) -> Expr:
        return sum_over(value * (1.0 / count_of(counts, value)), axes, inside)

    return _adaptive("adaptive_avg_pool", x, size, combine)


@operator
def adaptive_max_pool(x: Tensor, size: PerAxis) -> Tensor:
    """Return maxima over windows; see `adaptive_avg_pool`."""
    return _adaptive(
        "adaptive_max_pool", x, size, lambda value, axes, inside, _: greatest(value, axes, inside)
    )


@dataclass(frozen=True)
class _Axis:
    """The windows along one axis."""

    extent: int
    count: int

    def start(self, i: Expr) -> Expr:
        """Return the first element of a window."""
        if self.extent % self.count == 0:
            return i * (self.extent // self.count)
        return i * self.extent // self.count

    def length(self, i: Expr) -> Expr:
        """Return the length of a window."""
        if self.extent % self.count == 0:
            return expr(self.extent // self.count)
        return ((i + 1) * self.extent + (self.count - 1)) // self.count - self.start(i)

    @property
    def longest(self) -> int:
        """The length of the longest one."""
        between = gcd(self.extent, self.count)  # windows begin at so many parts of an element
        return -(-(self.extent + self.count - between) // self.count)


def _adaptive(caller: str, x: Tensor, size: PerAxis, combine: Callable[..., Expr]) -> Tensor:
    check_least_rank(caller, "x", x, 3, IMAGES)
    check_elements(caller, x, range(2, x.ndim), "images without elements have no windows")
    sizes = per_axis(caller, size, x.ndim - 2, "size", 1)
    windows = [
        _Axis(fixed_extent(caller, "x", extent, "because it is cut into windows"), count)
        for extent, count in zip(x.shape[2:], sizes)
    ]
    axes = tuple(reduce_axis(cuts.longest) for cuts in windows)

    def element(n: Expr, c: Expr, *window: Expr) -> Expr:
        inside: Expr | None = None
        for cuts, i, r in zip(windows, window, axes):
            if cuts.extent % cuts.count:
                inside = conjunction(inside, r < cuts.length(i))
        at = [cuts.start(i) + r for cuts, i, r in zip(windows, window, axes)]
        return combine(x[(n, c, *at)], axes, inside, _lengths(windows, window))

    return compute((*x.shape[:2], *sizes), element, caller)


def _lengths(windows: Sequence[_Axis], window: Sequence[Expr]) -> list[Expr]:
    return [cuts.length(i) for cuts, i in zip(windows, window)]
