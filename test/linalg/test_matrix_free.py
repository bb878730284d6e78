"""Systems whose matrix is a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti


@ti.data_oriented
class Heat:
    """(1 + k) x minus k / 4 times the sum of its neighbours, on a square; with a drift, the matrix
    is not symmetric."""

    def __init__(self, n: int, drift: float = 0.0) -> None:
        self.n, self.drift = n, drift
        self.k = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def times(self, x: ti.template(), y: ti.template()):
        for i, j in x:
            found = (1.0 + self.k[None]) * x[i, j]
            for d in ti.static([(1, 0), (-1, 0), (0, 1), (0, -1)]):
                if 0 <= i + d[0] < self.n and 0 <= j + d[1] < self.n:
                    weight = self.k[None] * (0.25 + self.drift * d[0])
                    found -= weight * x[i + d[0], j + d[1]]
            y[i, j] = found

    def matrix(self, k: float) -> Any:
        n = self.n
        found = np.zeros((n, n, n, n))
        for i in range(n):
            for j in range(n):
                found[i, j, i, j] = 1 + k
                for a, c in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    if 0 <= i + a < n and 0 <= j + c < n:
                        found[i, j, i + a, j + c] = -k * (0.25 + self.drift * a)
        return found.reshape(n * n, n * n)


@pytest.mark.parametrize(
    "dtype, drift, solve",
    [(ti.f32, 0.0, "MatrixFreeCG"), (ti.f64, 0.2, "MatrixFreeBICGSTAB")],
)
def test_solutions_are_numpys(dtype: Any, drift: float, solve: str) -> None:
    ti.init(default_fp=ti.f64)
    n, run = 6, getattr(ti.linalg, solve)
    tol = 1e-5 if dtype is ti.f32 else 1e-11
    x, b = ti.field(dtype, (n, n)), ti.field(dtype, (n, n))
    right = np.random.default_rng(0).random((n, n))
    b.from_numpy(right.astype(dtype.numpy))
    heat = Heat(n, drift)
    heat.k[None] = 3.0
    operator = ti.linalg.LinearOperator(heat.times)
    assert run(operator, b, x, tol=tol, maxiter=100)
    expected = np.linalg.solve(heat.matrix(3.0), right.ravel())
    np.testing.assert_allclose(x.to_numpy().ravel(), expected, atol=5 * tol)
    assert run(operator, b, x, tol=10 * tol, maxiter=0)  # it is there already
    x.fill(0)
    assert not run(operator, b, x, tol=tol, maxiter=1)


def test_derivatives_reach_the_right_hand_side_and_the_matrix() -> None:
    ti.init(default_fp=ti.f64)
    n = 4
    x, b, loss = (ti.field(float, s, needs_grad=True) for s in ((n, n), (n, n), ()))
    right = np.random.default_rng(0).random((n, n))
    heat = Heat(n)
    operator = ti.linalg.LinearOperator(heat.times)

    @ti.kernel
    def measure():
        for i, j in x:
            loss[None] += (i + 1) * x[i, j] ** 2

    def value(k: float, given: Any) -> float:
        found = np.linalg.solve(heat.matrix(k), given.ravel()).reshape(n, n)
        return float((np.arange(1, n + 1)[:, None] * found**2).sum())

    b.from_numpy(right)
    heat.k[None] = 2.0
    with ti.ad.Tape(loss):
        assert ti.linalg.MatrixFreeCG(operator, b, x, tol=1e-12)
        measure()
    slope = (value(2.0 + 1e-6, right) - value(2.0 - 1e-6, right)) / 2e-6
    assert heat.k.grad[None] == pytest.approx(slope, rel=1e-6)
    along = np.zeros((n, n))
    along[1, 2] = 1e-6
    slope = (value(2.0, right + along) - value(2.0, right - along)) / 2e-6
    assert b.grad[1, 2] == pytest.approx(slope, rel=1e-6)


def test_bad_input_is_refused() -> None:
    ti.init(default_fp=ti.f64)
    heat = Heat(3)
    operator = ti.linalg.LinearOperator(heat.times)
    x, b = ti.field(ti.f64, (3, 3), needs_grad=True), ti.field(ti.f64, (3, 4))
    with pytest.raises(ti.TaichiRuntimeError, match=r"shape \(3, 4\), but x has shape \(3, 3\)"):
        ti.linalg.MatrixFreeCG(operator, b, x)
    with pytest.raises(ti.TaichiTypeError, match="b has type f32, but x has type f64"):
        ti.linalg.MatrixFreeCG(operator, ti.field(ti.f32, (3, 3)), x)
    with pytest.raises(ti.TaichiTypeError, match="expected b as a field of scalars"):
        ti.linalg.MatrixFreeBICGSTAB(operator, np.ones(3), x)
    with pytest.raises(ti.TaichiRuntimeError, match="x has shape"):
        operator.matvec(x, b)
    loss = ti.field(ti.f64, (), needs_grad=True)
    with pytest.raises(ti.TaichiRuntimeError, match="has no derivative"), ti.ad.Tape(loss):
        ti.linalg.MatrixFreeBICGSTAB(operator, x, x)
