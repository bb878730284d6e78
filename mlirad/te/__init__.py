"""Tensor expressions: tensors by the expressions of their elements, compiled and differentiated.

from mlirad import te

x, w = te.placeholder((32, 64), name="x"), te.placeholder((64, 8), name="w")
k = te.reduce_axis(64)
y = te.compute((32, 8), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
step = te.build([y], [x, w])
"""

from mlirad.te import nn
from mlirad.te.definitions.axes import reduce_axis, var
from mlirad.te.definitions.compute import compute, placeholder
from mlirad.te.definitions.einsum import einsum
from mlirad.te.definitions.functions import (
    abs,
    acos,
    all,
    any,
    asin,
    atan,
    atan2,
    cast,
    ceil,
    clip,
    cos,
    erf,
    erfc,
    exp,
    expm1,
    floor,
    gelu,
    log,
    log1p,
    maximum,
    minimum,
    normal_density,
    pow,
    relu,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    softplus,
    sqrt,
    tan,
    tanh,
    trunc,
)
from mlirad.te.definitions.logsumexp import logsumexp
from mlirad.te.definitions.operators import operator, stop_gradient
from mlirad.te.definitions.reductions import argmax, argmin, comm_reducer, max, min, prod, sum
from mlirad.te.definitions.scan import scan
from mlirad.te.definitions.schedule import Schedule
from mlirad.te.derivation.differentiate import (
    Differentiation,
    adjoint_step,
    differentiate,
    jacobian,
)
from mlirad.te.derivation.forward import hvp, jvp
from mlirad.te.programs.build import build
from mlirad.te.tensor import Tensor

__all__ = [
    "Differentiation",
    "Schedule",
    "Tensor",
    "abs",
    "acos",
    "adjoint_step",
    "all",
    "any",
    "argmax",
    "argmin",
    "asin",
    "atan",
    "atan2",
    "build",
    "cast",
    "ceil",
    "clip",
    "comm_reducer",
    "compute",
    "cos",
    "differentiate",
    "einsum",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "gelu",
    "hvp",
    "jacobian",
    "jvp",
    "log",
    "log1p",
    "logsumexp",
    "max",
    "maximum",
    "min",
    "minimum",
    "nn",
    "normal_density",
    "operator",
    "placeholder",
    "pow",
    "prod",
    "reduce_axis",
    "relu",
    "round",
    "rsqrt",
    "scan",
    "select",
    "sigmoid",
    "sin",
    "softplus",
    "sqrt",
    "stop_gradient",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "var",
]


def __dir__() -> list[str]:
    return __all__
