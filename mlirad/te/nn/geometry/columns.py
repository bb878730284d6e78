"""Windows as columns of a matrix, which make a convolution a product."""

from __future__ import annotations

from math import prod

from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import Expr
from mlirad.te.nn.geometry.per_axis import check_rank, fixed_extent
from mlirad.te.nn.geometry.windows import Padding, PerAxis, windows
from mlirad.te.tensor import Tensor


@operator
def im2col(
    x: Tensor, kernel: PerAxis, stride: PerAxis = 1, padding: Padding = 0, dilation: PerAxis = 1
) -> Tensor:
    """Return the windows of images (batch, channels, height, width) with integer height and width,
    as columns: (batch, channels * points of a window, windows). Raises TaichiTypeError if no window
    fits."""
    check_rank("im2col", "x", x, 4, "images (batch, channels, height, width)")
    space = [fixed_extent("im2col", "x", n, "because windows are counted") for n in x.shape[2:]]
    slid = windows("im2col", space, kernel, stride, dilation, padding)
    _, columns = slid.shape
    height, width = slid.kernel

    def element(n: Expr, row: Expr, window: Expr) -> Expr:
        point = row % (height * width)
        at = slid.at((window // columns, window % columns), (point // width, point % width))
        return slid.read_padded(at, lambda p: x[(n, row // (height * width), *p)])

    shape = (x.shape[0], x.shape[1] * (height * width), prod(slid.shape))
    return compute(shape, element, "im2col")
