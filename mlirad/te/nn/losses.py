"""Losses: means over all elements, of which the derivative is one number for each of them; NaN of
none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.functions import abs as abs_of
from mlirad.te.definitions.functions import relu, softplus
from mlirad.te.definitions.operators import operator
from mlirad.te.expressions import Expr, select
from mlirad.te.nn.geometry.per_axis import check_extents, check_rank
from mlirad.te.nn.lookups import check_indices
from mlirad.te.nn.softmax import log_softmax
from mlirad.te.nn.statistics import average
from mlirad.te.tensor import Tensor


def _mean(caller: str, shape: Sequence[object], element: Callable[..., Expr]) -> Tensor:
    axes = tuple(reduce_axis(extent) for extent in shape)
    return compute((), lambda: average(element(*axes), axes) if axes else element(), caller)


@operator
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean of `-log(softmax(logits))` at the labels, a number.

    Args:
        logits: of shape (batch, classes).
        labels: integers of shape (batch,), below the number of classes.

    Raises:
        TaichiTypeError: the shapes do not fit, or the labels are floats.
    """
    check_rank("cross_entropy", "logits", logits, 2, "2 axes (batch, classes)")
    check_extents("cross_entropy", "labels", labels, logits.shape[:1])
    check_indices("cross_entropy", labels, "logits", logits.shape[1], "labels")
    logarithms = log_softmax.function(logits)
    return _mean("cross_entropy", labels.shape, lambda n: -logarithms[n, labels[n]])


@operator
def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over rows of `-sum(targets * log(softmax(logits)))`. Both arguments have
    shape (batch, classes). Raises TaichiTypeError if the shapes do not fit."""
    check_rank("soft_cross_entropy", "logits", logits, 2, "2 axes (batch, classes)")
    check_extents("soft_cross_entropy", "targets", targets, logits.shape)
    logarithms, classes = log_softmax.function(logits), logits.shape[1]
    return _mean(
        "soft_cross_entropy",
        logits.shape,
        lambda n, c: -(targets[n, c] * logarithms[n, c] * classes),
    )


@operator
def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of `-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x))`, without overflow, of
    tensors of the same shape. Raises TaichiTypeError if the shapes differ."""
    check_extents("binary_cross_entropy", "targets", targets, logits.shape)

    def element(*i: Expr) -> Expr:
        return softplus(logits[i]) - logits[i] * targets[i]

    return _mean("binary_cross_entropy", logits.shape, element)


@operator
def mse_loss(x: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of the squared differences of tensors of the same shape. Raises
    TaichiTypeError if the shapes differ."""
    check_extents("mse_loss", "targets", targets, x.shape)
    return _mean("mse_loss", x.shape, lambda *i: (x[i] - targets[i]) ** 2)


@operator
def l1_loss(x: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of the absolute differences of tensors of the same shape; see `mse_loss`."""
    check_extents("l1_loss", "targets", targets, x.shape)
    return _mean("l1_loss", x.shape, lambda *i: abs_of(x[i] - targets[i]))


@operator
def huber_loss(x: Tensor, targets: Tensor, delta: float = 1.0) -> Tensor:
    """Return the mean of the Huber loss of the differences: half the square up to `delta`, linear
    beyond (Huber, 1964); see `mse_loss`."""
    check_extents("huber_loss", "targets", targets, x.shape)

    def element(*i: Expr) -> Expr:
        far = abs_of(x[i] - targets[i])
        return select(far <= delta, far * far * 0.5, (far - 0.5 * delta) * delta)

    return _mean("huber_loss", x.shape, element)


@operator
def hinge_loss(x: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of `relu(1 - x t)`, for targets t of -1 and 1; see `mse_loss`."""
    check_extents("hinge_loss", "targets", targets, x.shape)
    return _mean("hinge_loss", x.shape, lambda *i: relu(1.0 - x[i] * targets[i]))
