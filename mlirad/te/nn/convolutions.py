"""Convolutions, along one axis to three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.operators import Operator, named_operator
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Expr, Extent
from mlirad.te.nn.geometry.per_axis import check_extents, check_rank, check_same, fixed_extent
from mlirad.te.nn.geometry.windows import PADDINGS, Padding, PerAxis, Windows, windows
from mlirad.te.tensor import Tensor

SPACE = {1: "W", 2: "HW", 3: "DHW"}


def _convolve(
    rank: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: PerAxis,
    padding: Padding,
    dilation: PerAxis,
    groups: int,
    layout: str,
    mode: str,
) -> Tensor:
    caller = f"conv{rank}d"
    is_last = has_channels_last(caller, layout, rank)
    check_rank(caller, "x", x, rank + 2, f"images of {rank + 2} axes ({layout})")
    check_rank(caller, "weight", weight, rank + 2, f"{rank + 2} axes")
    batch, channels, space = taken_apart(x.shape, is_last)
    kernel, (inputs, outputs) = (
        (weight.shape[:rank], weight.shape[rank:])
        if is_last
        else (weight.shape[2:], weight.shape[1::-1])
    )
    check_groups(caller, channels, outputs, inputs, groups)
    if bias is not None:
        check_extents(caller, "bias", bias, (outputs,))
    sizes = kernel_of(caller, weight, kernel)
    slid = windows(caller, space, sizes, stride, dilation, padding, "weight")
    read = _reader(caller, x, slid, mode, is_last)
    c, taps = reduce_axis(inputs, "c"), slid.axes()
    per_group = outputs if groups == 1 else max(outputs // groups, 1)

    def element(*indices: Expr) -> Expr:
        n, k, window = taken_apart(indices, is_last)
        channel = c if groups == 1 else k // per_group * inputs + c
        w = weight[(*taps, c, k)] if is_last else weight[(k, c, *taps)]
        value = read(n, channel, slid.at(window, taps)) * w
        return sum_over(value, axis=(c, *taps), init=None if bias is None else bias[k])

    return compute(put_together(batch, outputs, slid.shape, is_last), element, caller)


def _reader(caller: str, x: Tensor, slid: Windows, mode: str, is_last: bool) -> Any:
    """Return a function that reads an element, also in the padding."""
    if mode not in ("zeros", "circular"):
        refuse(caller, f"mode={mode!r}", "is neither 'zeros' nor 'circular'")
    if mode == "circular":
        for extent in slid.extents:
            if not fixed_extent(caller, "x", extent, "because padding is circular"):
                refuse(caller, "x", f"is {x!r}: there is nothing to pad with")
    padded = slid.read_around if mode == "circular" else slid.read_padded

    def read(n: Expr, channel: Expr, at: Sequence[Expr]) -> Expr:
        return padded(at, lambda p: x[put_together(n, channel, p, is_last)])

    return read


def _convolution(rank: int, doc: str) -> Operator:
    def convolution(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: PerAxis = 1,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        layout: str = f"NC{SPACE[rank]}",
        mode: str = "zeros",
    ) -> Tensor:
        return _convolve(rank, x, weight, bias, stride, padding, dilation, groups, layout, mode)

    return named_operator(convolution, f"conv{rank}d", doc)


def has_channels_last(caller: str, layout: str, rank: int) -> bool:
    """Return whether a layout has channels last. Raises TaichiTypeError for what is none."""
    layouts = {f"NC{SPACE[rank]}": False, f"N{SPACE[rank]}C": True}
    if layout not in layouts:
        refuse(caller, f"layout={layout!r}", f"is neither {' nor '.join(map(repr, layouts))}")
    return layouts[layout]


def taken_apart(entries: Sequence[Any], is_last: bool) -> tuple[Any, Any, tuple[Any, ...]]:
    """Split entries into those of the batch, of channels, and of space."""
    channel = -1 if is_last else 1
    space = entries[1:-1] if is_last else entries[2:]
    return entries[0], entries[channel], tuple(space)


def put_together(batch: Any, channel: Any, space: Sequence[Any], is_last: bool) -> tuple[Any, ...]:
    """The other way round."""
    return (batch, *space, channel) if is_last else (batch, channel, *space)


def kernel_of(caller: str, weight: Tensor, extents: Sequence[Extent]) -> list[int]:
    """The extents of a window. Raises TaichiTypeError for a window of no points."""
    sizes = [fixed_extent(caller, "weight", extent, "as in every kernel") for extent in extents]
    if not all(sizes):
        refuse(caller, "weight", f"is {weight!r}: expected a kernel of at least one point")
    return sizes


def check_groups(
    caller: str, channels: Extent, outputs: Extent, inputs: Extent, groups: int
) -> None:
    """Raise TaichiTypeError if groups do not divide channels and outputs, or weights have
    another number of channels."""
    is_number = isinstance(groups, int) and not isinstance(groups, bool) and groups > 0
    if not is_number:
        refuse(caller, f"groups={groups!r}", "is not a valid number of groups")
    if groups == 1:
        check_same(
            caller, "x and weight", channels, inputs, "the channels of images and of weights"
        )
        return
    for argument, extent, named in (("x", channels, "channels"), ("weight", outputs, "outputs")):
        if fixed_extent(caller, argument, extent, "because there are groups") % groups:
            refuse(caller, "groups:", f"{groups} groups do not divide {extent} {named}")
    check_same(
        caller,
        "x, weight and groups",
        channels // groups,
        inputs,
        "the channels of a group and of weights",
    )


conv1d = _convolution(
    1, 'Return a convolution along one axis; see `conv2d`. Layouts are "NCW" and "NWC".'
)
conv2d = _convolution(
    2,
    f"""Return a convolution of images; strictly a correlation, as the kernel is not flipped. See
Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016.

Args:
    x: of shape (batch, channels, height, width), or with `layout="NHWC"` (batch, height, width,
        channels).
    weight: of shape (outputs, channels / groups, kernel height, kernel width), or with
        `layout="NHWC"` (kernel height, kernel width, channels / groups, outputs).
    bias: of shape (outputs,).
    stride: the distance between windows.
    padding: {PADDINGS}
    dilation: the distance between the points of a window.
    groups: outputs of a group use the channels of that group only. With as many groups as
        channels, this is a depthwise convolution.
    layout: "NCHW" or "NHWC".
    mode: the values in the padding: "zeros", or "circular" for those of the opposite end, which
        needs integer extents.

Returns:
    A tensor of shape (batch, outputs, height, width), in the layout and the type of x.

Raises:
    TaichiTypeError: the shapes and groups do not fit, or no window fits.
""",
)
conv3d = _convolution(
    3, 'Return a convolution along three axes; see `conv2d`. Layouts are "NCDHW" and "NDHWC".'
)
