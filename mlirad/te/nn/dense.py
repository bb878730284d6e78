"""Products of matrices."""

from __future__ import annotations

from mlirad.te.definitions.axes import reduce_axis
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.operators import operator
from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import Expr
from mlirad.te.nn.geometry.per_axis import check_extents, check_least_rank, check_rank, check_same
from mlirad.te.tensor import Tensor


@operator
def dense(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `x @ weight.T + bias`.

    Args:
        x: of shape (..., inputs).
        weight: of shape (outputs, inputs).
        bias: of shape (outputs,).

    Returns:
        A tensor of shape (..., outputs).

    Raises:
        TaichiTypeError: the shapes do not fit.
    """
    check_least_rank("dense", "x", x, 1, "a tensor (..., inputs)")
    check_rank("dense", "weight", weight, 2, "a matrix (outputs, inputs)")
    check_same("dense", "x and weight", x.shape[-1], weight.shape[1], "inputs of x and of weight")
    if bias is not None:
        check_extents("dense", "bias", bias, weight.shape[:1])
    k = reduce_axis(weight.shape[1])

    def element(*indices: Expr) -> Expr:
        *front, j = indices
        start = None if bias is None else bias[j]
        return sum_over(x[(*front, k)] * weight[j, k], axis=k, init=start)

    return compute((*x.shape[:-1], weight.shape[0]), element, "dense")


@operator
def matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Return `a @ b`.

    Args:
        a: of shape (n, k), or (k, n) if transposed.
        b: of shape (k, m), or (m, k) if transposed.
        transpose_a: a is transposed.
        transpose_b: b is transposed.

    Raises:
        TaichiTypeError: the shapes do not fit.
    """
    return _product("matmul", a, b, transpose_a, transpose_b, 0)


@operator
def batch_matmul(
    a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False
) -> Tensor:
    """Return `matmul` of each pair of matrices in a batch, the first axis."""
    return _product("batch_matmul", a, b, transpose_a, transpose_b, 1)


def _product(
    caller: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, front: int
) -> Tensor:
    for tensor, argument in ((a, "a"), (b, "b")):
        check_rank(caller, argument, tensor, 2 + front, "matrices" if front else "a matrix")
    for left, right in zip(a.shape[:front], b.shape[:front]):
        check_same(caller, "a and b", left, right, "batches")
    names = (("transpose_a", transpose_a), ("transpose_b", transpose_b))
    rows, summed = (a.shape[-1], a.shape[-2]) if transpose_a else a.shape[-2:]
    other, columns = (b.shape[-1], b.shape[-2]) if transpose_b else b.shape[-2:]
    turned = [f", {name}" for name, is_turned in names if is_turned]
    check_same(
        caller, "a and b" + "".join(turned), summed, other, "the extents that are summed over"
    )
    k = reduce_axis(summed)

    def element(*indices: Expr) -> Expr:
        *batch, i, j = indices
        left = a[(*batch, k, i)] if transpose_a else a[(*batch, i, k)]
        right = b[(*batch, j, k)] if transpose_b else b[(*batch, k, j)]
        return sum_over(left * right, axis=k)

    return compute((*a.shape[:front], rows, columns), element, caller)
