"""Random systems of linear equations against SciPy, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse
from scipy.sparse.linalg import spsolve

import mlirad as ti

KINDS = ("LLT", "LDLT", "LU")


def random_system(rng: Generator, kind: str) -> tuple[Any, Any, Any, int]:
    """Rows, columns and parameters of triplets, duplicates among them, and a size: the matrix has
    the squares of the parameters at them, and on the diagonal what makes it definite."""
    n = int(rng.integers(2, 13))
    count = int(rng.integers(1, 3 * n))
    rows, columns = rng.integers(0, n, (2, count))
    parameters = rng.uniform(0.2, 1.0, count)
    if kind != "LU":  # as many again on the other side
        rows, columns = np.append(rows, columns), np.append(columns, rows)
        parameters = np.append(parameters, parameters)
    diagonal = np.arange(n)
    sizes = np.sqrt(n + rng.uniform(5.0, 9.0, n))
    return (
        np.append(rows, diagonal).astype(np.int32),
        np.append(columns, diagonal).astype(np.int32),
        np.append(parameters, sizes),
        n,
    )


def solution(rows: Any, columns: Any, parameters: Any, n: int, sign: Any, b: Any) -> Any:
    """By SciPy."""
    entries = sign * parameters * parameters
    return spsolve(sparse.csc_matrix((entries, (rows, columns)), (n, n)), b)


@ti.kernel
def fill(
    A: ti.types.sparse_matrix_builder(),
    rows: ti.types.ndarray(),
    columns: ti.types.ndarray(),
    theta: ti.types.ndarray(),
    sign: ti.types.ndarray(),
):
    for k in theta:
        if sign[k] > 0.0:
            A[rows[k], columns[k]] += theta[k] * theta[k]
        else:
            A[rows[k], columns[k]] -= theta[k] * theta[k]


@ti.kernel
def measure(x: ti.types.ndarray(), weights: ti.types.ndarray(), loss: ti.types.ndarray()):
    for i in x:
        loss[0] += weights[i] * x[i] * x[i]


def as_ndarray(dtype: Any, values: Any, needs_grad: bool = False) -> Any:
    made = ti.ndarray(dtype, values.shape, needs_grad)
    made.from_numpy(values.astype(made.dtype.numpy))
    return made


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_solutions_and_gradients_of_random_systems(dtype: Any) -> None:
    ti.init(default_fp=dtype)
    rng = np.random.default_rng(7)
    close = {"rtol": 2e-3, "atol": 2e-5} if dtype is ti.f32 else {"rtol": 1e-8, "atol": 1e-12}
    for number in range(200):
        kind = KINDS[number % 3]
        rows, columns, start, n = random_system(rng, kind)
        sign = np.ones(len(start))
        if kind == "LDLT":
            sign[-n // 2 :] = -1.0  # some of the diagonal: indefinite
        start = start.astype(dtype.numpy).astype(np.float64)
        right = rng.uniform(-1.0, 1.0, n).astype(dtype.numpy).astype(np.float64)
        weights = rng.uniform(0.5, 1.0, n).astype(dtype.numpy).astype(np.float64)
        theta, b = as_ndarray(dtype, start, True), as_ndarray(dtype, right, True)
        loss = ti.ndarray(dtype, 1, needs_grad=True)
        builder = ti.linalg.SparseMatrixBuilder(n, n, len(start), dtype, needs_grad=True)
        solver = ti.linalg.SparseSolver(dtype, kind, "COLAMD" if number % 2 else "AMD")
        given = [as_ndarray(ti.i32, rows), as_ndarray(ti.i32, columns)]
        with ti.ad.Tape(loss):
            fill(builder, *given, theta, as_ndarray(dtype, sign))
            solver.compute(builder.build())
            assert solver.info()
            x = solver.solve(b)
            measure(x, as_ndarray(dtype, weights), loss)
        expected = solution(rows, columns, start, n, sign, right)
        np.testing.assert_allclose(x.to_numpy(), expected, **close)
        above = solution(columns, rows, start, n, sign, 2 * weights * expected)
        np.testing.assert_allclose(b.grad.to_numpy(), above, **close)
        entries = -above[rows] * expected[columns]
        found = theta.grad.to_numpy()
        np.testing.assert_allclose(found, 2 * sign * start * entries, **close)
        if number < 20 and dtype is ti.f64:
            k, step = int(rng.integers(len(start))), 1e-5
            along = np.zeros_like(start)
            along[k] = step
            values = [
                weights @ solution(rows, columns, start + way * along, n, sign, right) ** 2
                for way in (1, -1)
            ]
            assert found[k] == pytest.approx(
                (values[0] - values[1]) / (2 * step), rel=1e-5, abs=1e-8
            )
