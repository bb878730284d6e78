"""Transposed convolutions: what a convolution gives back to its images."""

from __future__ import annotations

from mlirad.errors import TaichiTypeError
from mlirad.te.compute import compute, placeholder
from mlirad.te.differentiate import differentiate
from mlirad.te.nn.axes import check_extents, check_rank, check_same, known
from mlirad.te.nn.convolutions import SPACE, conv1d, conv2d, conv3d
from mlirad.te.nn.windows import PerAxis, per_axis
from mlirad.te.operators import operator
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


@operator
def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """A transposed convolution along one axis; see `conv2d_transpose`."""
    return _transposed(x, weight, bias, stride, padding, output_padding, dilation, groups, 1)


@operator
def conv2d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The adjoint of `conv2d` in its images: x is (batch, channels, height, width), weight
    (channels, outputs / groups, kernel height, kernel width), bias (outputs,), the result (batch,
    outputs, ...), with extents `(extent - 1) * stride - 2 * padding + dilation * (kernel - 1) +
    output_padding + 1`. Raises TaichiTypeError where channels, groups and shapes do not fit.

    Zeiler et al., "Deconvolutional networks", 2010.
    """
    return _transposed(x, weight, bias, stride, padding, output_padding, dilation, groups, 2)


@operator
def conv3d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """A transposed convolution along three axes; see `conv2d_transpose`."""
    return _transposed(x, weight, bias, stride, padding, output_padding, dilation, groups, 3)


def _transposed(
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
    what = f"conv{rank}d_transpose"
    check_rank(what, x, rank + 2, f"images of {rank + 2} axes (NC{SPACE[rank]})")
    check_rank(what, weight, rank + 2, f"weights of {rank + 2} axes")
    check_same(what, x.shape[1], weight.shape[0], "the channels of images and of weights")
    steps, gaps = per_axis(stride, rank, "stride", 1), per_axis(dilation, rank, "dilation", 1)
    ends, more = (
        per_axis(padding, rank, "padding", 0),
        per_axis(output_padding, rank, "output_padding", 0),
    )
    sizes = [known(what, extent, "as kernels are") for extent in weight.shape[2:]]
    extents = [known(what, extent, "as images grow") for extent in x.shape[2:]]
    for own, step in zip(more, steps):
        if own >= step:
            raise TaichiTypeError(
                f"{what}: output_padding={output_padding!r} is not below stride={stride!r}", place()
            )
    space = [
        (extent - 1) * step - 2 * end + gap * (size - 1) + own + 1
        for extent, step, end, gap, size, own in zip(extents, steps, ends, gaps, sizes, more)
    ]
    outputs = weight.shape[1] * groups
    if bias is not None:
        check_extents(what, bias, (outputs,), "the bias")
    image = placeholder((x.shape[0], outputs, *space), x.dtype, "image")
    seen = CONVOLUTIONS[rank].function(image, weight, None, steps, ends, gaps, groups)
    (found,) = differentiate(seen, [image], x)
    made: Tensor = found
    return made if bias is None else compute(made.shape, lambda *i: made[i] + bias[i[1]], what)
