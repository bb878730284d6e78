"""What pools give back to their images."""

from __future__ import annotations

from mlirad.te.differentiate import differentiate
from mlirad.te.nn.axes import check_extents
from mlirad.te.nn.pools import max_pool2d
from mlirad.te.nn.windows import Padding, PerAxis
from mlirad.te.operators import operator
from mlirad.te.tensor import Tensor


@operator
def max_unpool2d(
    x: Tensor,
    images: Tensor,
    kernel: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
) -> Tensor:
    """Each element of x where the images, whose pool by `max_pool2d` has the shape of x, were
    greatest in its window, and 0 elsewhere; elements that meet are added. Raises TaichiTypeError
    for images whose pool has another shape.

    Zeiler and Fergus, 2014.
    """
    pooled = max_pool2d.function(images, kernel, stride, padding)
    check_extents("max_unpool2d", x, pooled.shape, "the pool of the images")
    (found,) = differentiate(pooled, [images], x)
    made: Tensor = found
    return made
