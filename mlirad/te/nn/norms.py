"""Normalizations: less the mean, divided by the root of the variance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.elementary import rsqrt
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import Expr
from mlirad.te.nn.geometry.per_axis import check_extents, check_least_rank, fixed_extent
from mlirad.te.nn.statistics import at_kept, average, over
from mlirad.te.nn.statistics import mean as mean_over
from mlirad.te.nn.statistics import variance as variance_over
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

Moments = tuple[Tensor, Tensor]  # means and variances
EPSILON = 1e-5
CHANNELS = "a tensor (batch, channels, ...)"


@operator
def batch_norm(
    x: Tensor,
    scale: Tensor | None = None,
    shift: Tensor | None = None,
    mean: Tensor | None = None,
    variance: Tensor | None = None,
    epsilon: float = EPSILON,
) -> Tensor:
    """Normalize x by the mean and variance of each channel, then multiply by `scale` and add
    `shift` (Ioffe and Szegedy, 2015).

    Args:
        x: of shape (batch, channels, ...).
        scale: of shape (channels,).
        shift: of shape (channels,).
        mean: of shape (channels,), for use instead of the mean of the batch, as after training.
        variance: of shape (channels,), for use with `mean`.
        epsilon: a number that is added to the variance.

    Raises:
        TaichiTypeError: the shapes do not fit, or only one of mean and variance is given.
    """
    check_least_rank("batch_norm", "x", x, 2, CHANNELS)
    for tensor, named in (
        (scale, "scale"),
        (shift, "shift"),
        (mean, "mean"),
        (variance, "variance"),
    ):
        if tensor is not None:
            check_extents("batch_norm", named, tensor, x.shape[1:2])
    if (mean is None) != (variance is None):
        raise TaichiTypeError("batch_norm: pass both mean and variance, or neither", place())
    reduced = [k for k in range(x.ndim) if k != 1]
    middle = mean_over(x, reduced) if mean is None else mean
    spread = variance_over(x, reduced) if variance is None else variance

    def element(*i: Expr) -> Expr:
        value = (x[i] - middle[i[1]]) * rsqrt(spread[i[1]] + epsilon)
        return _scale(value, scale, shift, (i[1],))

    return compute(x.shape, element, "batch_norm")


@operator
def layer_norm(
    x: Tensor,
    scale: Tensor | None = None,
    shift: Tensor | None = None,
    axes: int = 1,
    epsilon: float = EPSILON,
) -> Tensor:
    """Normalize x by the mean and variance over its last axes, then multiply by `scale` and add
    `shift`, which have the shape of these axes (Ba, Kiros and Hinton, 2016). Raises TaichiTypeError
    if the shapes do not fit."""
    last = _last("layer_norm", x, axes, scale, shift)
    middle, spread = mean_over(x, last, True), variance_over(x, last, True)

    def element(*i: Expr) -> Expr:
        at = at_kept(i, last)
        value = (x[i] - middle[at]) * rsqrt(spread[at] + epsilon)
        return _scale(value, scale, shift, i[last[0] :])

    return compute(x.shape, element, "layer_norm")


@operator
def rms_norm(
    x: Tensor, scale: Tensor | None = None, axes: int = 1, epsilon: float = EPSILON
) -> Tensor:
    """Divide x by the root of the mean of its squares over its last axes, then multiply by `scale`,
    which has the shape of these axes (Zhang and Sennrich, 2019). Raises TaichiTypeError if the
    shapes do not fit."""
    last = _last("rms_norm", x, axes, scale, None)
    spread = over("rms", x, last, True, lambda value, k: average(value * value, k))

    def element(*i: Expr) -> Expr:
        value = x[i] * rsqrt(spread[at_kept(i, last)] + epsilon)
        return _scale(value, scale, None, i[last[0] :])

    return compute(x.shape, element, "rms_norm")


@operator
def group_norm(
    x: Tensor,
    groups: int,
    scale: Tensor | None = None,
    shift: Tensor | None = None,
    epsilon: float = EPSILON,
) -> Tensor:
    """Normalize x (batch, channels, ...) by the mean and variance of each group of channels, then
    multiply by `scale` and add `shift`, both (channels,) (Wu and He, 2018). Raises TaichiTypeError
    if the number of groups does not divide the number of channels."""
    check_least_rank("group_norm", "x", x, 2, CHANNELS)
    channels = fixed_extent("group_norm", "x", x.shape[1], "because groups divide it")
    if groups < 1 or channels % groups:
        refuse("group_norm", "groups:", f"{groups} groups do not divide {channels} channels")
    return _by_groups("group_norm", x, groups, scale, shift, epsilon)


def _by_groups(
    caller: str, x: Tensor, groups: int, scale: Tensor | None, shift: Tensor | None, epsilon: float
) -> Tensor:
    for tensor, named in ((scale, "scale"), (shift, "shift")):
        if tensor is not None:
            check_extents(caller, named, tensor, x.shape[1:2])
    count = x.shape[1] // groups
    middle = _of_groups(x, groups, lambda value, n, g: value)
    spread = _of_groups(x, groups, lambda value, n, g: (value - middle[n, g]) ** 2)

    def element(*i: Expr) -> Expr:
        at = (i[0], i[1] // count if count > 1 else i[1])
        value = (x[i] - middle[at]) * rsqrt(spread[at] + epsilon)
        return _scale(value, scale, shift, (i[1],))

    return compute(x.shape, element, caller)


@operator
def instance_norm(
    x: Tensor, scale: Tensor | None = None, shift: Tensor | None = None, epsilon: float = EPSILON
) -> Tensor:
    """Return `group_norm` with one group for each channel (Ulyanov et al., 2016)."""
    check_least_rank("instance_norm", "x", x, 2, CHANNELS)
    channels = fixed_extent("instance_norm", "x", x.shape[1], "because channels are groups")
    return _by_groups("instance_norm", x, max(channels, 1), scale, shift, epsilon)


def _of_groups(x: Tensor, groups: int, first: Callable[..., Expr]) -> Tensor:
    """Means over the channels of a group and all that is behind them."""
    count = x.shape[1] // groups
    c, *behind = (reduce_axis(extent) for extent in (count, *x.shape[2:]))

    def element(n: Expr, g: Expr) -> Expr:
        return average(first(x[(n, g * count + c, *behind)], n, g), (c, *behind))

    return compute((x.shape[0], groups), element, "groups")


def _last(
    caller: str, x: Tensor, axes: int, scale: Tensor | None, shift: Tensor | None
) -> list[int]:
    if not 0 < axes <= x.ndim:
        refuse(caller, "axes", f"is {axes!r}, expected a number of the {x.ndim} axes of x")
    for tensor, named in ((scale, "scale"), (shift, "shift")):
        if tensor is not None:
            check_extents(caller, named, tensor, x.shape[-axes:])
    return list(range(x.ndim - axes, x.ndim))


def _scale(value: Expr, scale: Tensor | None, shift: Tensor | None, at: Sequence[Any]) -> Expr:
    scaled = value if scale is None else value * scale[tuple(at)]
    return scaled if shift is None else scaled + shift[tuple(at)]
