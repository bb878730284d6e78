"""Functions of each element."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.te.definitions.arguments import refuse
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.elementary import exp as exp_of
from mlirad.te.definitions.elementary import expm1
from mlirad.te.definitions.elementary import tanh as tanh_of
from mlirad.te.definitions.functions import abs as abs_of
from mlirad.te.definitions.functions import clip
from mlirad.te.definitions.functions import gelu as gelu_of
from mlirad.te.definitions.functions import relu as relu_of
from mlirad.te.definitions.functions import sigmoid as sigmoid_of
from mlirad.te.definitions.functions import softplus as softplus_of
from mlirad.te.definitions.operators import Operator, named_operator, operator
from mlirad.te.expressions import Expr, select
from mlirad.te.nn.geometry.per_axis import check_extents, check_least_rank
from mlirad.te.tensor import Tensor


def _of_elements(name: str, function: Callable[[Expr], Expr], sentence: str) -> Operator:
    def apply(x: Tensor) -> Tensor:
        return compute(x.shape, lambda *i: function(x[i]), name)

    doc = f"{sentence} The result has the shape and type of x; integers give `default_fp`."
    return named_operator(apply, name, doc)


relu = _of_elements("relu", relu_of, "Return x if it is greater than 0, otherwise 0.")
relu6 = _of_elements("relu6", lambda x: clip(x, 0, 6), "Return x limited to the range from 0 to 6.")
sigmoid = _of_elements("sigmoid", sigmoid_of, "Return `1 / (1 + exp(-x))`.")
tanh = _of_elements("tanh", tanh_of, "Return the hyperbolic tangent.")
exp = _of_elements("exp", exp_of, "Return the exponential function.")
gelu = _of_elements("gelu", gelu_of, "Return `x Φ(x)` (Hendrycks and Gimpel, 2016).")
softplus = _of_elements("softplus", softplus_of, "Return `log(1 + exp(x))`, without overflow.")
softsign = _of_elements("softsign", lambda x: x / (1.0 + abs_of(x)), "Return `x / (1 + |x|)`.")
silu = _of_elements("silu", lambda x: x * sigmoid_of(x), "Return `x / (1 + exp(-x))`.")
mish = _of_elements("mish", lambda x: x * tanh_of(softplus_of(x)), "Return `x tanh(softplus(x))`.")
log_sigmoid = _of_elements(
    "log_sigmoid", lambda x: -softplus_of(-x), "Return `-log(1 + exp(-x))`, without overflow."
)
hard_sigmoid = _of_elements(
    "hard_sigmoid",
    lambda x: clip(x / 6 + 0.5, 0.0, 1.0),
    "Return `x / 6 + 1/2`, limited to the range from 0 to 1.",
)
hard_swish = _of_elements(
    "hard_swish", lambda x: x * clip(x / 6 + 0.5, 0.0, 1.0), "Return `x hard_sigmoid(x)`."
)


@operator
def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """Return x if it is greater than 0, otherwise x times `slope`."""
    return compute(x.shape, lambda *i: select(x[i] > 0, x[i], x[i] * slope), "leaky_relu")


@operator
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """Return x (batch, channels, ...) if it is greater than 0, otherwise x times the slope of its
    channel, of shape (channels,) (He et al., 2015). Raises TaichiTypeError if the number of slopes
    differs from the number of channels."""
    check_least_rank("prelu", "x", x, 2, "a tensor (batch, channels, ...)")
    check_extents("prelu", "slope", slope, x.shape[1:2])
    return compute(x.shape, lambda *i: select(x[i] > 0, x[i], x[i] * slope[i[1]]), "prelu")


@operator
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x if it is greater than 0, otherwise `alpha (exp(x) - 1)` (Clevert et al., 2016)."""
    return compute(x.shape, lambda *i: select(x[i] > 0, x[i], expm1(x[i]) * alpha), "elu")


@operator
def selu(x: Tensor) -> Tensor:
    """Return a scaled `elu` with the constants of Klambauer et al., 2017."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return compute(
        x.shape, lambda *i: select(x[i] > 0, x[i] * scale, expm1(x[i]) * (alpha * scale)), "selu"
    )


@operator
def dropout(x: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Return `x / (1 - rate)` where the mask is nonzero, and 0 elsewhere (Srivastava et al., 2014).
    Raises TaichiTypeError if the mask has another shape, or the rate is 1."""
    check_extents("dropout", "mask", mask, x.shape)
    if not 0 <= rate < 1:
        refuse("dropout", f"rate={rate!r}", "is not from 0 up to 1")
    return compute(
        x.shape, lambda *i: select(mask[i] != 0, x[i] * (1.0 / (1.0 - rate)), 0.0), "dropout"
    )
