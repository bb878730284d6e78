"""Decompositions of small matrices, singular and defective ones among them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.lang.math import decompositions as linear_algebra

RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, fast_math=False, opt_level=0)
    yield
    ti.reset()


DECOMPOSED = [
    np.array([[2.0, 1.0], [-1.0, 3.0]]),
    np.array([[1.0, 1.0, 3.0], [9.0, -3.0, 2.0], [-3.0, 4.0, 2.0]]),
    np.array([[0.0, 1.0], [1.0, 0.0]]),
    np.eye(2),
    np.diag([1.0, -2.0, 3.0]),
    np.zeros((3, 3)),
    np.zeros((2, 2)),
    np.outer([1.0, 2.0, 3.0], [1.0, 0.0, -1.0]),
]


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


def test_sweeps_are_made_by_one_thread() -> None:
    """Eight threads of a GPU would all make the first: no order of threads shows it."""
    square = ti.types.matrix(3, 3, ti.f64)
    A, W = square.field(shape=()), square.field(shape=())

    @ti.kernel
    def run():
        values, vectors = ti.sym_eig(A[None])
        W[None] = vectors * values[0]

    text = run.ptx(chip="sm_90")
    assert ".maxntid 1, 1, 1" in text and "%tid" not in text


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


@pytest.mark.parametrize(
    "a", [[[2.0, 1.0], [1.0, 3.0]], [[1.0, -1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]]
)
def test_eigenvalues_of_any_matrix(a: list[list[float]]) -> None:
    A, values, vectors = (ti.Matrix.field(n, 2, ti.f64, shape=()) for n in (2, 2, 4))
    A.from_numpy(np.array(a))

    @ti.kernel
    def run():
        values[None], vectors[None] = ti.eig(A[None])

    run()
    w = values.to_numpy() @ [1, 1j]
    v = vectors.to_numpy()[::2] + 1j * vectors.to_numpy()[1::2]
    np.testing.assert_allclose(
        np.sort_complex(w), np.sort_complex(np.linalg.eigvals(np.array(a))), atol=1e-12
    )
    np.testing.assert_allclose(np.array(a) @ v, v * w, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1)


# Derivatives.


def field_of(a: np.ndarray) -> Any:
    """A 0-D field of a matrix, with a gradient."""
    A = ti.Matrix.field(*a.shape, ti.f64, shape=(), needs_grad=True)
    A.from_numpy(a)
    return A


def gradient(a: np.ndarray, loss_of: Any) -> np.ndarray:
    """The gradient in a matrix of what a function of it returns."""
    A, loss = field_of(a), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        loss[None] += loss_of(A[None])

    with ti.ad.Tape(loss):
        run()
    return A.grad.to_numpy()


def slopes(a: np.ndarray, loss_of: Any) -> np.ndarray:
    """The same by central differences, of the fourth order."""
    A, loss = field_of(a), ti.field(ti.f64, shape=())

    @ti.kernel
    def run():
        loss[None] = loss_of(A[None])

    def value(change: np.ndarray) -> float:
        A.from_numpy(a + change)
        run()
        return float(loss[None])

    h, found = 1e-4, np.zeros_like(a)
    for place in np.ndindex(a.shape):
        unit = np.zeros_like(a)
        unit[place] = h
        found[place] = (8 * (value(unit) - value(-unit)) - value(2 * unit) + value(-2 * unit)) / (
            12 * h
        )
    return found


def stretched(n: int, values: list[float], seed: int = 0) -> np.ndarray:
    """A matrix of given singular values; the last one has the determinant's sign."""
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    u[:, 0] *= np.linalg.det(u)
    v[:, 0] *= np.linalg.det(v)
    return u @ np.diag(values) @ v.T


SPECTRA = [
    [2.0, 0.5],
    [1.5, -0.5],
    [1.0, 0.99],
    [3.0, 1.2, 0.4],
    [2.0, 1.5, -0.7],
    [1.1, 1.09, 1.08],
    [2.0, 1.0, -0.9],
]


@pytest.mark.parametrize("values", SPECTRA, ids=str)
def test_derivatives_of_the_factors(values: list[float]) -> None:
    """By rows of the Jacobian, and by columns, against finite differences of every factor."""
    n = len(values)
    a = stretched(n, values)
    svd, polar = (
        (linear_algebra._svd2, linear_algebra._polar2)
        if n == 2
        else (linear_algebra._svd3, linear_algebra._polar3)
    )
    if min(np.diff(sorted(values))) > 0.05:
        ti.ad.check_custom(svd, a)
    ti.ad.check_custom(polar, a)


@ti.func
def corotated(F):
    R, _ = ti.polar_decompose(F)
    return ((F - R) * (F - R)).sum()


@ti.func
def corotated_by_svd(F):
    U, _, V = ti.svd(F)
    D = F - U @ V.transpose()
    return (D * D).sum()


@ti.func
def hencky(F):
    _, S, _ = ti.svd(F)
    total = F[0, 0] * 0.0
    for k in ti.static(range(F.n)):
        total += (k + 1.0) * ti.log(ti.abs(S[k, k])) ** 2
    return total


WEIGHTS = np.arange(1.0, 10.0) ** 2


@ti.func
def rebuilt(F):
    """A sum of the entries of F, with weights, by way of its factors."""
    U, S, V = ti.svd(F)
    M = U @ S @ V.transpose()
    total = F[0, 0] * 0.0
    for i, j in ti.static(ti.ndrange(F.n, F.n)):
        total += WEIGHTS[3 * i + j] * M[i, j]
    return total


@pytest.mark.parametrize("energy", [corotated, corotated_by_svd], ids=["polar", "svd"])
@pytest.mark.parametrize(
    "values", [*SPECTRA, [1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 2.0, 0.5], [2.0, 0.5, 0.5]], ids=str
)
def test_corotated_energy(energy: Any, values: list[float]) -> None:
    """Its gradient is 2 (F - R) (Chao et al. 2010), at equal singular values too."""
    a = stretched(len(values), values)
    u, _, vt = np.linalg.svd(a)
    u[:, -1] *= np.sign(np.linalg.det(a))
    found = gradient(a, energy)
    np.testing.assert_allclose(found, 2 * (a - u @ vt), atol=1e-10)
    np.testing.assert_allclose(found, slopes(a, energy), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n", [2, 3])
def test_at_the_identity(n: int) -> None:
    """The stress is 0 there, and that of a small strain is 2 times its symmetric part."""
    assert np.all(gradient(np.eye(n), corotated) == 0)
    move = 1e-6 * np.random.default_rng(n).standard_normal((n, n))
    np.testing.assert_allclose(gradient(np.eye(n) + move, corotated), move + move.T, atol=1e-10)
    linear_algebra_polar = linear_algebra._polar2 if n == 2 else linear_algebra._polar3
    ti.ad.check_custom(linear_algebra_polar, np.eye(n))


@pytest.mark.parametrize(
    "values",
    [
        *SPECTRA,
        [1.0, 1.0],
        [1.0, -1.0],
        [0.0, 0.0],
        [1.0, 1.0, 1.0],
        [2.0, 0.5, 0.5],
        [2.0, 0.5, -0.5],
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0 - 1e-9, 0.5],
        [1.0, 1.0 - 1e-15, 1.0 - 2e-15],
    ],
    ids=str,
)
def test_what_is_put_together_again_moves_with_the_matrix(values: list[float]) -> None:
    """U S Vᵀ is A, whatever the factors do."""
    n = len(values)
    weights = WEIGHTS.reshape(3, 3)[:n, :n]
    np.testing.assert_allclose(gradient(stretched(n, values), rebuilt), weights, rtol=1e-6)


@pytest.mark.parametrize("values", SPECTRA, ids=str)
def test_functions_of_singular_values(values: list[float]) -> None:
    a = stretched(len(values), values)
    np.testing.assert_allclose(gradient(a, hencky), slopes(a, hencky), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("n", [2, 3])
def test_equal_singular_values_give_finite_numbers(n: int) -> None:
    """U alone has no derivative there; what stands for it is the solution of least norm (see
    decomposition_rules)."""

    @ti.func
    def corner(F):
        U, _, _ = ti.svd(F)
        return U[0, 1] * 3.0 + U[0, 0]

    assert np.all(np.isfinite(gradient(np.eye(n), corner)))


def test_two_values_that_add_up_to_zero() -> None:
    """The rotation jumps there."""

    def is_finite(a: list[list[float]]) -> bool:
        @ti.func
        def corner(F):
            R, _ = ti.polar_decompose(F)
            return R[0, 1]

        return bool(np.all(np.isfinite(gradient(np.array(a), corner))))

    assert not is_finite([[1.0, 0.0], [0.0, -1.0]])
    assert not is_finite([[0.0, 0.0], [0.0, 0.0]])
    assert is_finite([[1.0, 0.0], [0.0, -0.5]])
    assert not is_finite([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])


@pytest.mark.parametrize(
    "function", [corotated, corotated_by_svd, hencky], ids=["polar", "svd", "log"]
)
def test_tangents_and_second_derivatives(function: Any) -> None:
    """Forward mode, and forward over the rules of reverse mode, against differences of the
    gradient."""
    a = stretched(3, [2.0, 1.2, 0.5])
    move = np.random.default_rng(4).uniform(-1, 1, (3, 3))
    _, slope = ti.ad.jvp(function)(a, move)
    assert slope == pytest.approx((gradient(a, function) * move).sum(), rel=1e-9)
    A, loss = field_of(a), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        loss[None] += function(A[None])

    run()
    found = ti.ad.hvp(run, loss=loss, wrt=A, v=move)
    h = 1e-4
    change = (gradient(a + h * move, function) - gradient(a - h * move, function)) / (2 * h)
    np.testing.assert_allclose(np.asarray(found), change, rtol=1e-5, atol=1e-6)
