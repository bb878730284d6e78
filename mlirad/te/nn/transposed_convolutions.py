"""Transposed convolutions: what a convolution gives back to its images."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.errors import TaichiTypeError
from mlirad.te.definitions.arguments import refuse, shown_value
from mlirad.te.definitions.compute import compute, placeholder
from mlirad.te.definitions.operators import Operator, named_operator
from mlirad.te.derivation.differentiate import differentiate
from mlirad.te.expressions import Extent
from mlirad.te.nn.convolutions import SPACE, conv1d, conv2d, conv3d, kernel_of
from mlirad.te.nn.geometry.per_axis import (
    check_extents,
    check_rank,
    check_same,
    extent_of,
    fixed_extent,
)
from mlirad.te.nn.geometry.windows import PerAxis, per_axis
from mlirad.te.nn.joins import slices
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


def _transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: PerAxis,
    padding: PerAxis,
    output_padding: PerAxis,
    dilation: PerAxis,
    groups: int,
    rank: int,
) -> Tensor:
    caller = f"conv{rank}d_transpose"
    check_rank(caller, "x", x, rank + 2, f"images of {rank + 2} axes (NC{SPACE[rank]})")
    check_rank(caller, "weight", weight, rank + 2, f"{rank + 2} axes")
    channels = "the channels of images and of weights"
    check_same(caller, "x and weight", x.shape[1], weight.shape[0], channels)
    sizes = kernel_of(caller, weight, weight.shape[2:])
    extents = [fixed_extent(caller, "x", extent, "because images grow") for extent in x.shape[2:]]
    steps, gaps = (
        per_axis(caller, value, rank, name, 1)
        for value, name in ((stride, "stride"), (dilation, "dilation"))
    )
    ends = per_axis(caller, padding, rank, "padding", 0)
    more = _more(caller, output_padding, steps, gaps)
    space = [
        (extent - 1) * step - 2 * end + gap * (size - 1) + extra + 1
        for extent, step, end, gap, size, extra in zip(extents, steps, ends, gaps, sizes, more)
    ]
    if min(space) < 1 or min(extents) < 1:
        refuse(caller, "x and padding", f"have no result: it would have the extents {tuple(space)}")
    space = [extent_of(caller, "stride", extent) for extent in space]
    outputs = _outputs(caller, x, weight, groups)
    if bias is not None:
        check_extents(caller, "bias", bias, (outputs,))
    image = placeholder((x.shape[0], outputs, *space), x.dtype, "image")
    images = CONVOLUTIONS[rank].function(image, weight, None, steps, ends, gaps, groups)
    if any(extra >= step for extra, step in zip(more, steps)):  # windows that x has no elements for
        images = slices.function(images, slice(None), slice(None), *map(slice, extents))
    (result,) = differentiate(images, [image], x)
    if bias is None:
        return result
    return compute(result.shape, lambda *i: result[i] + bias[i[1]], caller)


def _transposed_convolution(rank: int, doc: str) -> Operator:
    def convolution(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        return _transpose(x, weight, bias, stride, padding, output_padding, dilation, groups, rank)

    return named_operator(convolution, f"conv{rank}d_transpose", doc)


def _more(
    caller: str, output_padding: PerAxis, steps: Sequence[int], gaps: Sequence[int]
) -> tuple[int, ...]:
    """Elements behind the last window. Raises TaichiTypeError for as many as the stride, and as the
    dilation."""
    more = per_axis(caller, output_padding, len(steps), "output_padding", 0)
    if any(extra >= max(step, gap) for extra, step, gap in zip(more, steps, gaps)):
        raise TaichiTypeError(
            f"{caller}: output_padding={shown_value(output_padding)} must be less than "
            f"stride={_shown_numbers(steps)} or dilation={_shown_numbers(gaps)}",
            place(),
        )
    return more


def _shown_numbers(numbers: Sequence[int]) -> str:
    return str(numbers[0] if len(set(numbers)) == 1 else tuple(numbers))


def _outputs(caller: str, x: Tensor, weight: Tensor, groups: int) -> Extent:
    if groups < 1:
        refuse(caller, f"groups={groups}", "is not a valid number of groups")
    if groups > 1 and fixed_extent(caller, "x", x.shape[1], "because there are groups") % groups:
        refuse(caller, "groups:", f"{groups} groups do not divide {x.shape[1]} channels")
    return extent_of(caller, "weight and groups", weight.shape[1] * groups)


conv1d_transpose = _transposed_convolution(
    1, "Return a transposed convolution along one axis; see `conv2d_transpose`."
)
conv2d_transpose = _transposed_convolution(
    2,
    """Return the adjoint of `conv2d` with respect to its images (Zeiler et al., "Deconvolutional
networks", 2010).

Args:
    x: of shape (batch, channels, height, width).
    weight: of shape (channels, outputs / groups, kernel height, kernel width).
    bias: of shape (outputs,).
    stride: the distance between windows.
    padding: the padding of the convolution.
    output_padding: additional extents of the result, less than the stride or the dilation.
    dilation: the distance between the points of a window.
    groups: the number of groups of channels.

Returns:
    A tensor of shape (batch, outputs, ...) with extents `(extent - 1) * stride - 2 * padding +
    dilation * (kernel - 1) + output_padding + 1`.

Raises:
    TaichiTypeError: the shapes and groups do not fit.
""",
)
conv3d_transpose = _transposed_convolution(
    3, "Return a transposed convolution along three axes; see `conv2d_transpose`."
)
