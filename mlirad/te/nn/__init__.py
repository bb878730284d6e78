"""Operators of neural networks: each is a few lines of `te.compute`, and may be given a gradient.

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
from mlirad.te.nn.convolutions import conv1d, conv2d, conv3d
from mlirad.te.nn.dense import batch_matmul, dense, matmul
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
)

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_matmul",
    "conv1d",
    "conv2d",
    "conv3d",
    "dense",
    "dropout",
    "elu",
    "exp",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "l2_pool1d",
    "l2_pool2d",
    "l2_pool3d",
    "leaky_relu",
    "log_sigmoid",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
    "tanh",
]
