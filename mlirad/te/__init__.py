"""Tensor expressions: define each tensor by an expression for its elements; mlirad compiles and
differentiates it.

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
from mlirad.te.definitions.elementary import *  # noqa: F403 - part of the namespace
from mlirad.te.definitions.functions import (
    abs,
    all,
    any,
    cast,
    clip,
    gelu,
    maximum,
    minimum,
    normal_density,
    pow,
    relu,
    select,
    sigmoid,
    softplus,
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
    "acosh",
    "adjoint_step",
    "all",
    "any",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "build",
    "cast",
    "cbrt",
    "ceil",
    "clip",
    "comm_reducer",
    "compute",
    "copysign",
    "cos",
    "cosh",
    "differentiate",
    "einsum",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "gelu",
    "hvp",
    "hypot",
    "jacobian",
    "jvp",
    "log",
    "log1p",
    "log2",
    "log10",
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
    "sinh",
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
