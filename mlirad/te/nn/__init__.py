"""Operators of neural networks. Each is a few lines of `te.compute`, and you can give it your own
gradient.

    y = te.nn.max_pool2d(te.nn.relu(te.nn.conv2d(x, weight, padding=1)), 2)
    te.nn.max_pool2d.def_gradient(f)
"""

from mlirad.te.nn.activations import (
    dropout,
    elu,
    exp,
    gelu,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    log_sigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softsign,
    tanh,
)
from mlirad.te.nn.arithmetic import add, divide, maximum, minimum, multiply, subtract
from mlirad.te.nn.attention import attention
from mlirad.te.nn.convolutions import conv1d, conv2d, conv3d
from mlirad.te.nn.dense import batch_matmul, dense, matmul
from mlirad.te.nn.geometry.columns import im2col
from mlirad.te.nn.joins import concat, part, slices, split, stack
from mlirad.te.nn.lookups import embedding, gather, one_hot, scatter_add, segment_sum, take
from mlirad.te.nn.losses import (
    binary_cross_entropy,
    cross_entropy,
    hinge_loss,
    huber_loss,
    l1_loss,
    mse_loss,
    soft_cross_entropy,
)
from mlirad.te.nn.norms import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from mlirad.te.nn.pads import pad
from mlirad.te.nn.pools import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    l2_pool1d,
    l2_pool2d,
    l2_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool2d,
)
from mlirad.te.nn.resizes import (
    pixel_shuffle,
    pixel_unshuffle,
    resize_bilinear,
    resize_nearest,
    upsample,
)
from mlirad.te.nn.shapes import (
    broadcast_to,
    expand_dims,
    flatten,
    repeat,
    reshape,
    roll,
    squeeze,
    tile,
    transpose,
    triangle,
)
from mlirad.te.nn.softmax import log_softmax, logsumexp, softmax
from mlirad.te.nn.statistics import l2_normalize, max, mean, min, norm, prod, sum, variance
from mlirad.te.nn.transposed_convolutions import (
    conv1d_transpose,
    conv2d_transpose,
    conv3d_transpose,
)
from mlirad.te.nn.whole_pools import (
    adaptive_avg_pool,
    adaptive_max_pool,
    global_avg_pool,
    global_max_pool,
)

__all__ = [
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "add",
    "attention",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_matmul",
    "batch_norm",
    "binary_cross_entropy",
    "broadcast_to",
    "concat",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cross_entropy",
    "dense",
    "divide",
    "dropout",
    "elu",
    "embedding",
    "exp",
    "expand_dims",
    "flatten",
    "gather",
    "gelu",
    "global_avg_pool",
    "global_max_pool",
    "group_norm",
    "hard_sigmoid",
    "hard_swish",
    "hinge_loss",
    "huber_loss",
    "im2col",
    "instance_norm",
    "l1_loss",
    "l2_normalize",
    "l2_pool1d",
    "l2_pool2d",
    "l2_pool3d",
    "layer_norm",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool2d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mse_loss",
    "multiply",
    "norm",
    "one_hot",
    "pad",
    "part",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "prod",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "resize_bilinear",
    "resize_nearest",
    "rms_norm",
    "roll",
    "scatter_add",
    "segment_sum",
    "selu",
    "sigmoid",
    "silu",
    "slices",
    "soft_cross_entropy",
    "softmax",
    "softplus",
    "softsign",
    "split",
    "squeeze",
    "stack",
    "subtract",
    "sum",
    "take",
    "tanh",
    "tile",
    "transpose",
    "triangle",
    "upsample",
    "variance",
]


def __dir__() -> list[str]:
    return __all__
