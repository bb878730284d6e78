"""Functions of tensors in which the passes on the way to code have something to do: as they are,
and their derivatives, which are functions too."""

from __future__ import annotations

from mlirad import te


def windows(mode: str) -> te.TensorFunction:
    """The gradient of a convolution with strides and padding."""
    x, w = te.placeholder((2, 2, 9, 9), name="x"), te.placeholder((3, 2, 3, 3), name="w")
    y = te.nn.conv2d(x, w, stride=2, padding=1)
    head = te.placeholder(y.shape, name="head")
    gradient = te.build(te.differentiate(y, [x, w], head=head), [x, w, head])
    return gradient if mode == "primal" else gradient.reverse([0, 1, 2])


FUNCTIONS = {"windows": windows}
