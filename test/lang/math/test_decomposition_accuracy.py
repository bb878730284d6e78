"""Decompositions of 100,000 matrices of a kind: errors in units in the last place of the norm,
beside those of LAPACK at the same precision (as NumPy calls it)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import mlirad as ti

COUNT = 20_000
KINDS = [
    "random",
    "near_singular",
    "near_identity",
    "identity_but_ulps",
    "tiny",
    "huge",
    "rank_one",
]
FLOATS = {"f32": (ti.f32, np.float32), "f64": (ti.f64, np.float64)}


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    yield
    ti.reset()


@cache
def matrices(kind: str, n: int, dtype: Any) -> np.ndarray:
    """COUNT matrices of a kind."""
    rng = np.random.default_rng(11)
    noise, one = rng.standard_normal((COUNT, n, n)), np.eye(n)
    ulp, limits = float(np.finfo(dtype).eps), np.finfo(dtype)
    if kind == "near_singular":
        u, v = (np.linalg.qr(a)[0] for a in (noise, rng.standard_normal((COUNT, n, n))))
        return ((u * np.geomspace(1, ulp, n)) @ v).astype(dtype)
    found = {
        "random": noise,
        "near_identity": one + 10 ** rng.uniform(-8, -1, (COUNT, 1, 1)) * noise,
        "identity_but_ulps": one + ulp * rng.integers(-2, 3, (COUNT, n, n)),
        "tiny": noise * (float(limits.tiny) * 2**30),
        "huge": noise * (float(limits.max) * 2**-8),
        "rank_one": noise[:, :, :1] * noise[:, :1, :],
    }
    return found[kind].astype(dtype)


Decompose = Callable[[np.ndarray], list[np.ndarray]]


def function_of(name: str, n: int, precision: str, shapes: list[tuple[int, ...]]) -> Decompose:
    """A function of `ti` over an array of matrices, at a precision."""
    ftype = FLOATS[precision][0]
    ti.init(default_fp=ftype)
    given = ti.Matrix.field(n, n, ftype, shape=COUNT)
    fields = [
        ti.Matrix.field(*s, ftype, shape=COUNT)
        if len(s) == 2
        else ti.Vector.field(*s, ftype, shape=COUNT)
        for s in shapes
    ]
    function = getattr(ti, name)

    @ti.kernel
    def decompose():
        for i in given:
            results = function(given[i])
            for k in ti.static(range(len(shapes))):
                fields[k][i] = results[k]

    def run(A: np.ndarray) -> list[np.ndarray]:
        given.from_numpy(A)
        decompose()
        return [field.to_numpy().astype(np.float64) for field in fields]

    return run


def worst(error: np.ndarray, A: np.ndarray) -> float:
    """The largest error in ulps of the norm of its matrix."""
    largest = np.abs(A).reshape(COUNT, -1).max(axis=1).astype(np.float64)
    norm = largest * np.linalg.norm(A / largest[:, None, None], axis=(1, 2))
    scale = norm * float(np.finfo(A.dtype).eps)
    return float((np.abs(error).reshape(COUNT, -1).max(axis=1) / scale).max())


def transposed(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, 1, 2)


def handedness(q: np.ndarray) -> np.ndarray:
    """The determinants."""
    if q.shape[1] == 2:
        return q[:, 0, 0] * q[:, 1, 1] - q[:, 0, 1] * q[:, 1, 0]
    return (np.cross(q[:, :, 0], q[:, :, 1]) * q[:, :, 2]).sum(axis=1)


def skewness(q: np.ndarray, dtype: Any) -> np.ndarray:
    """What an orthogonal matrix lacks, in ulps."""
    return (transposed(q) @ q - np.eye(q.shape[1])) / float(np.finfo(dtype).eps)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("precision", FLOATS)
def test_singular_values(n: int, precision: str) -> None:
    svd, dtype = function_of("svd", n, precision, [(n, n)] * 3), FLOATS[precision][1]
    for kind in KINDS:
        A = matrices(kind, n, dtype)
        U, S, V = svd(A)
        u, s, vt = (a.astype(np.float64) for a in np.linalg.svd(A))
        exact = np.linalg.svd(A.astype(np.float64))[1] if precision == "f32" else s
        by_lapack = max(worst((u * s[:, None]) @ vt - A, A), worst(s - exact, A), 4.0)
        values = np.abs(np.diagonal(S, axis1=1, axis2=2))
        assert worst(U @ S @ transposed(V) - A, A) <= 2 * by_lapack, kind
        assert worst(values - exact, A) <= 2 * by_lapack, kind
        for q in (U, V):
            assert np.abs(skewness(q, dtype)).max() <= 6, kind
            assert abs(np.trace(skewness(q, dtype), axis1=1, axis2=2).mean()) <= 1, kind
        assert (handedness(U) > 0).all() and (handedness(V) > 0).all(), kind


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("precision", FLOATS)
def test_polar_decompositions(n: int, precision: str) -> None:
    polar, dtype = function_of("polar_decompose", n, precision, [(n, n)] * 2), FLOATS[precision][1]
    for kind in KINDS:
        A = matrices(kind, n, dtype)
        R, S = polar(A)
        assert worst(R @ S - A, A) <= 16, kind
        assert worst(S - transposed(S), A) <= 4, kind
        assert np.abs(skewness(R, dtype)).max() <= 8, kind
        assert (handedness(R) > 0).all(), kind


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("precision", FLOATS)
def test_symmetric_eigenvalues(n: int, precision: str) -> None:
    sym_eig, dtype = function_of("sym_eig", n, precision, [(n,), (n, n)]), FLOATS[precision][1]
    for kind in KINDS:
        A = matrices(kind, n, dtype)
        A = (np.tril(A) + transposed(np.tril(A, -1))).astype(dtype)
        values, Q = sym_eig(A)
        exact = np.linalg.eigvalsh(A.astype(np.float64))[:, ::-1]
        assert worst(values - exact, A) <= 16, kind
        assert worst(A.astype(np.float64) @ Q - Q * values[:, None], A) <= 16, kind
        assert np.abs(skewness(Q, dtype)).max() <= 32, kind


@pytest.mark.parametrize("precision", FLOATS)
def test_eigenvalues(precision: str) -> None:
    eig = function_of("eig", 2, precision, [(2, 2), (4, 2)])
    for kind in KINDS:
        A = matrices(kind, 2, FLOATS[precision][1])
        values, vectors = eig(A)
        w, Q = values @ [1, 1j], vectors[:, ::2] + 1j * vectors[:, 1::2]
        assert worst(A.astype(np.float64) @ Q - Q * w[:, None], A) <= 16, kind
        np.testing.assert_allclose(np.linalg.norm(Q, axis=1), 1, rtol=1e-6, err_msg=kind)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("precision", FLOATS)
def test_linear_systems(n: int, precision: str) -> None:
    """Residuals beside the size of what was subtracted, as elimination with pivots keeps them."""
    ftype, dtype = FLOATS[precision]
    ti.init(default_fp=ftype)
    b = np.linspace(1, 2, n).astype(dtype)
    given, right = ti.Matrix.field(n, n, ftype, shape=COUNT), ti.Vector(list(b), dt=ftype)
    x = ti.Vector.field(n, ftype, shape=COUNT)

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.solve(given[i], right)

    for kind in ("random", "near_identity", "identity_but_ulps"):
        A = matrices(kind, n, dtype)
        given.from_numpy(A)
        run()
        found = x.to_numpy().astype(np.float64)[..., None]
        residual = np.abs(A.astype(np.float64) @ found - b[:, None])
        scale = np.abs(A.astype(np.float64)) @ np.abs(found) + b[:, None]
        assert (residual / scale).max() <= 64 * float(np.finfo(dtype).eps), kind


@pytest.mark.parametrize("precision", FLOATS)
def test_a_round_stretch_costs_no_rounding(precision: str) -> None:
    """A stress 2μ (F - U Vᵀ) Fᵀ of a body that nothing deforms: any other rotation than the
    identity would add up over time steps."""
    dtype = FLOATS[precision][1]
    svd = function_of("svd", 2, precision, [(2, 2)] * 3)
    ulp, rng = float(np.finfo(dtype).eps), np.random.default_rng(3)
    off = rng.uniform(-0.5, 0.5, COUNT) * ulp
    A = np.stack([1 + rng.integers(-1, 1, COUNT) * ulp / 2, off, off, np.ones(COUNT)], axis=1)
    U, _, V = svd(A.reshape(COUNT, 2, 2).astype(dtype))
    np.testing.assert_array_equal(U @ transposed(V), np.broadcast_to(np.eye(2), U.shape))


# The type that they compute in.


@ti.func
def factors_of_svd(M, dtype):
    U, S, V = ti.svd(M, dtype)
    return ((U @ S @ V.transpose()) * (U + V)).sum()


@ti.func
def factors_of_polar(M, dtype):
    R, S = ti.polar_decompose(M, dtype)
    return (R * S * S).sum()


@ti.func
def eigenvectors(M, dtype):
    values, vectors = ti.sym_eig(M + M.transpose(), dtype)
    return values.sum() + vectors[0, 0]


@ti.func
def complex_eigenvalues(M, dtype):
    values, vectors = ti.eig(M[:2, :2], dtype)
    return values[0, 0] * vectors[0, 0]


@ti.func
def solved(M, dtype):
    return ti.solve(M, M[:, 0] * 2, dtype).norm_sqr()


@ti.func
def inverted(M, dtype):
    return M.inverse().norm() + M[:, 0].normalized()[1] + M[0, 0] ** -3


def rotations(n: int, count: int) -> np.ndarray:
    """Random rotations."""
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((count, n, n)))[0]
    Q[:, :, 0] *= np.linalg.det(Q)[:, None]
    return Q


def values_and_gradients(function: Any, a: np.ndarray, default: Any) -> np.ndarray:
    """A row a matrix, all in f32, in a program with a default type."""
    ti.init(default_fp=default, fast_math=False, opt_level=0)
    A = ti.Matrix.field(*a.shape[1:], ti.f32, shape=len(a), needs_grad=True)
    values, loss = ti.field(ti.f32, len(a)), ti.field(ti.f32, (), needs_grad=True)
    A.from_numpy(a)

    @ti.kernel
    def run():
        for i in A:
            result = function(A[i], ti.f32)
            ti.static_assert(result.dtype == ti.f32)
            values[i] = result
            loss[None] += result

    with ti.ad.Tape(loss):
        run()
    return np.column_stack([values.to_numpy(), A.grad.to_numpy().reshape(len(a), -1)])


CALLS = [
    (factors_of_svd, 2),
    (factors_of_svd, 3),
    (factors_of_polar, 2),
    (eigenvectors, 2),
    (complex_eigenvalues, 2),
    (solved, 3),
    (inverted, 3),
]


@pytest.mark.parametrize(("function", "n"), CALLS, ids=lambda f: getattr(f, "__name__", f))
def test_the_default_type_changes_nothing(function: Any, n: int) -> None:
    """Values and gradients of f32 have the same bits under each default."""
    U, V = rotations(n, 6).reshape(2, 3, n, n)
    spectra = np.array([[1.0] * n, [0.5] * n, [2.0, 1.0, 0.4][:n]])
    a = ((U * spectra[:, None]) @ V).astype(np.float32)
    np.testing.assert_array_equal(
        values_and_gradients(function, a, ti.f32), values_and_gradients(function, a, ti.f64)
    )


@pytest.mark.parametrize("default", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_gradients_at_scaled_rotations(n: int, default: Any) -> None:
    """`‖U S Vᵀ‖²` has the gradient `2 A`, and of `A = c R` the sum of singular values has `R`."""
    ti.init(default_fp=default, opt_level=0)
    R = rotations(n, 8)
    scales = np.linspace(0.3, 4.0, 8)[:, None, None]
    A = ti.Matrix.field(n, n, ti.f32, shape=8, needs_grad=True)
    squares, total = (ti.field(ti.f32, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def run():
        for i in A:
            U, S, V = ti.svd(A[i], ti.f32)
            squares[None] += (U @ S @ V.transpose()).norm_sqr()
            total[None] += S.trace()

    A.from_numpy((scales * R).astype(np.float32))
    for loss, expected in ((squares, 2 * scales * R), (total, R)):
        with ti.ad.Tape(loss):
            run()
        np.testing.assert_allclose(A.grad.to_numpy(), expected, atol=5e-5)
