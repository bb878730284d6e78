"""Decompositions of small matrices, singular and defective ones among them, against NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, fast_math=False)
    yield
    ti.reset()


DECOMPOSED = [np.array([[2.0, 1.0], [-1.0, 3.0]]), np.array([[1.0, 1.0, 3.0], [9.0, -3.0, 2.0], [-3.0, 4.0, 2.0]]),
              np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2), np.diag([1.0, -2.0, 3.0]), np.zeros((3, 3)), np.zeros((2, 2)),
              np.outer([1.0, 2.0, 3.0], [1.0, 0.0, -1.0])]


@pytest.mark.parametrize("a", DECOMPOSED, ids=range(len(DECOMPOSED)))
def test_decompositions(a: np.ndarray) -> None:
    n = len(a)
    square = ti.types.matrix(n, n, ti.f64)
    A, R, S, U, D, V, W = (square.field(shape=()) for _ in range(7))
    values = ti.types.vector(n, ti.f64).field(shape=())
    A.from_numpy(a)

    @ti.kernel
    def run():
        R[None], S[None] = ti.polar_decompose(A[None])
        U[None], D[None], V[None] = ti.svd(A[None])
        values[None], W[None] = ti.sym_eig(A[None] + A[None].transpose())

    run()
    r, s, u, d, v, w = (f.to_numpy() for f in (R, S, U, D, V, W))
    close = {"atol": 1e-12}
    for q in (r, u, v, w):
        np.testing.assert_allclose(q.T @ q, np.eye(n), **close)
    np.testing.assert_allclose(r @ s, a, **close)
    np.testing.assert_allclose(s, s.T, **close)
    np.testing.assert_allclose(u @ d @ v.T, a, **close)
    np.testing.assert_allclose(np.abs(np.diag(d)), np.linalg.svd(a)[1], **close)
    np.testing.assert_allclose(d, np.diag(np.diag(d)), **close)
    np.testing.assert_allclose(np.linalg.det([u, v]), 1, **close)
    np.testing.assert_allclose(values.to_numpy(), np.linalg.eigvalsh(a + a.T)[::-1], **close)
    np.testing.assert_allclose(w @ np.diag(values.to_numpy()) @ w.T, a + a.T, **close)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_linear_systems(n: int) -> None:
    a = RANDOM.uniform(-2, 2, (n, n))
    a[0, 0] = 0 if n > 1 else 2
    b = RANDOM.uniform(size=n)
    square, vector = ti.types.matrix(n, n, ti.f64), ti.types.vector(n, ti.f64)

    @ti.kernel
    def run(A: square, b: vector) -> vector:
        return ti.solve(A, b)

    np.testing.assert_allclose(run(a, b).to_numpy(), np.linalg.solve(a, b), rtol=1e-10)


@pytest.mark.parametrize("a", [[[2.0, 1.0], [1.0, 3.0]], [[1.0, -1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]])
def test_eigenvalues_of_any_matrix(a: list[list[float]]) -> None:
    A, values, vectors = (ti.Matrix.field(n, 2, ti.f64, shape=()) for n in (2, 2, 4))
    A.from_numpy(np.array(a))

    @ti.kernel
    def run():
        values[None], vectors[None] = ti.eig(A[None])

    run()
    w = values.to_numpy() @ [1, 1j]
    v = vectors.to_numpy()[::2] + 1j * vectors.to_numpy()[1::2]
    np.testing.assert_allclose(np.sort_complex(w), np.sort_complex(np.linalg.eigvals(np.array(a))), atol=1e-12)
    np.testing.assert_allclose(np.array(a) @ v, v * w, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1)
