"""Sparse matrices: how kernels fill them, what is computed with them, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

import mlirad as ti


@ti.func
def couple(A: ti.types.sparse_matrix_builder(), i: int, j: int, stiffness: float):
    A[i, i] += stiffness
    A[j, j] += stiffness
    A[i, j] -= stiffness
    A[j, i] -= stiffness


@ti.kernel
def chain(A: ti.types.sparse_matrix_builder(), n: int, stiffness: float):
    for i in range(n):
        A[i, i] += 1.0
    for i in range(n - 1):
        couple(A, i, i + 1, stiffness)


def chain_matrix(n: int, stiffness: float) -> Any:
    found = np.eye(n)
    for i in range(n - 1):
        found[i : i + 2, i : i + 2] += stiffness * np.array([[1, -1], [-1, 1]])
    return found


def filled(entries: Any, dtype: Any = ti.f64) -> Any:
    """A matrix of an array, but for zeros."""
    rows, columns = np.nonzero(entries)
    made = ti.linalg.SparseMatrix(*entries.shape, dtype=dtype)
    triplets = ti.ndarray(dtype, (len(rows), 3))
    triplets.from_numpy(np.stack([rows, columns, entries[rows, columns]], 1).astype(dtype.numpy))
    made.build_from_ndarray(triplets)
    return made


def test_many_threads_append() -> None:
    ti.init(cpu_max_num_threads=4)
    n = 20_000
    builder = ti.linalg.SparseMatrixBuilder(n, n, 5 * n)
    for stiffness in (2.0, 3.0):  # a built builder is empty
        chain(builder, n, stiffness)
        A = builder.build()
        diagonal = A.to_scipy().diagonal()
        assert diagonal[0] == 1 + stiffness and (diagonal[1:-1] == 1 + 2 * stiffness).all()
        assert A.to_scipy().nnz == 3 * n - 2
        assert (A.to_scipy().diagonal(1) == -stiffness).all()


def test_algebra_is_numpys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(default_fp=ti.f64)
    rng = np.random.default_rng(0)
    one, other = (rng.integers(-2, 3, (5, 4)) * rng.random((5, 4)) for _ in range(2))
    right, vector = rng.integers(-2, 3, (4, 3)) * 1.5, rng.random(4)
    A, B, C = filled(one), filled(other), filled(right)
    assert A.shape == (5, 4) and (A.n, A.m) == (5, 4)
    np.testing.assert_allclose((A + B).to_numpy(), one + other)
    np.testing.assert_allclose((A - B).to_numpy(), one - other)
    np.testing.assert_allclose((A * B).to_numpy(), one * other)
    np.testing.assert_allclose((2.0 * A * 3).to_numpy(), 6 * one)
    np.testing.assert_allclose((A @ C).to_numpy(), one @ right)
    np.testing.assert_allclose(A.transpose().to_numpy(), one.T)
    np.testing.assert_allclose(A @ vector, one @ vector)
    field, array = ti.field(ti.f64, 4), ti.ndarray(ti.f64, 4)
    field.from_numpy(vector)
    array.from_numpy(vector)
    np.testing.assert_allclose(A @ field, one @ vector)
    product = A @ array
    assert isinstance(product, ti.Ndarray)
    np.testing.assert_allclose(product.to_numpy(), one @ vector)
    A[2, 3] = 7.5
    A += B
    assert A[2, 3] == pytest.approx(7.5 + other[2, 3])
    A.mmwrite(tmp_path / "a.mtx")
    np.testing.assert_allclose(
        scipy.io.mmread(tmp_path / "a.mtx", spmatrix=False).toarray(), A.to_numpy()
    )
    assert str(filled(np.array([[1.0, 0.0], [0.0, 2.5]]))) == "[1, 0]\n[0, 2.5]"
    builder = ti.linalg.SparseMatrixBuilder(2, 2, 8)
    chain(builder, 2, 0.5)
    builder.print_triplets()
    printed = capsys.readouterr().out
    assert "num_triplets=6" in printed and printed.count("val=") == 6


@pytest.mark.parametrize("solver", ["LU", "CG"])
def test_derivatives_pass_through_algebra(solver: str) -> None:
    """x = (K(p)ᵀ K(p) + 2 K(p) + K(p) * K(p))⁻¹ K(p) b, against central differences."""
    ti.init(default_fp=ti.f64)
    n = 6
    p, loss = ti.field(float, 3, needs_grad=True), ti.field(float, (), needs_grad=True)
    b = ti.ndarray(float, n, needs_grad=True)
    right = np.linspace(1.0, 2.0, n)

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder()):
        for i in range(n):
            A[i, i] += 4.0 + p[0] * i
            A[i, i] += p[0]
        for i in range(n - 1):
            A[i, i + 1] -= p[1] * p[2]
            A[i + 1, i] += -p[1] * p[2]

    @ti.kernel
    def square(x: ti.types.ndarray()):
        for i in x:
            loss[None] += (i + 1) * x[i] ** 2

    builder = ti.linalg.SparseMatrixBuilder(n, n, 4 * n, ti.f64, needs_grad=True)

    def run() -> None:
        fill(builder)
        K = builder.build()
        A = K.transpose() @ K + 2.0 * K + K * K - 0.5 * K
        if solver == "CG":
            x, is_done = ti.linalg.SparseCG(A, K @ b, max_iter=100, atol=1e-13).solve()
            assert is_done
        else:
            direct = ti.linalg.SparseSolver(ti.f64, "LU")
            direct.compute(A)
            x = direct.solve(K @ b)
        square(x)

    def value(parameters: Any, given: Any) -> float:
        K = np.diag(4 + parameters[0] * np.arange(n) + parameters[0])
        side = -parameters[1] * parameters[2] * np.ones(n - 1)
        K += np.diag(side, 1) + np.diag(side, -1)
        x = np.linalg.solve(K.T @ K + 1.5 * K + K * K, K @ given)
        return float(np.arange(1, n + 1) @ x**2)

    start = np.array([0.3, 0.7, 0.9])
    p.from_numpy(start)
    b.from_numpy(right)
    with ti.ad.Tape(loss):
        run()
    assert loss[None] == pytest.approx(value(start, right))
    for k in range(3):
        along = 1e-6 * np.eye(3)[k]
        slope = (value(start + along, right) - value(start - along, right)) / 2e-6
        assert p.grad[k] == pytest.approx(slope, rel=1e-6)
    for k in range(n):
        along = 1e-6 * np.eye(n)[k]
        slope = (value(start, right + along) - value(start, right - along)) / 2e-6
        assert b.grad[k] == pytest.approx(slope, rel=1e-6)


def test_derivatives_pass_through_steps_of_time() -> None:
    """An implicit step filled, solved and overwritten many times with one builder."""
    ti.init(default_fp=ti.f64)
    n, steps = 5, 4
    k, loss = ti.field(float, (), needs_grad=True), ti.field(float, (), needs_grad=True)
    x = ti.field(float, n, needs_grad=True)
    builder = ti.linalg.SparseMatrixBuilder(n, n, 6 * n, ti.f64, needs_grad=True)
    solver = ti.linalg.SparseSolver(ti.f64, "LLT")

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder()):
        for i in range(n):
            A[i, i] += 1.0
        for i in range(n - 1):
            couple(A, i, i + 1, k[None])

    @ti.kernel
    def add() -> None:
        for i in x:
            loss[None] += x[i] * x[i] * i

    start = np.linspace(1.0, 3.0, n) ** 2
    x.from_numpy(start)
    k[None] = 0.4
    with ti.ad.Tape(loss):
        for _ in range(steps):
            fill(builder)
            solver.compute(builder.build())
            solver.solve(x, x)
        add()

    def value(stiffness: float, given: Any) -> float:
        inverse = np.linalg.inv(chain_matrix(n, stiffness))
        return float(np.arange(n) @ (np.linalg.matrix_power(inverse, steps) @ given) ** 2)

    assert loss[None] == pytest.approx(value(0.4, start))
    slope = (value(0.4 + 1e-6, start) - value(0.4 - 1e-6, start)) / 2e-6
    assert k.grad[None] == pytest.approx(slope, rel=1e-6)
    along = 1e-6 * np.eye(n)[2]
    slope = (value(0.4, start + along) - value(0.4, start - along)) / 2e-6
    assert x.grad[2] == pytest.approx(slope, rel=1e-6)


def test_entries_that_cancel_keep_their_derivative() -> None:
    ti.init(default_fp=ti.f64)
    triplets = ti.ndarray(ti.f64, (3, 3), needs_grad=True)
    triplets.from_numpy(np.array([[0, 0, 1.0], [0, 1, 2.0], [1, 1, 1.0]]))
    loss, v = ti.ndarray(float, 1, needs_grad=True), ti.ndarray(float, 2)
    v.from_numpy(np.array([3.0, 5.0]))

    @ti.kernel
    def first(y: ti.types.ndarray(), total: ti.types.ndarray()):
        total[0] += y[0]

    with ti.ad.Tape(loss):
        A = ti.linalg.SparseMatrix(2, 2, dtype=ti.f64)
        A.build_from_ndarray(triplets)
        first((A - filled(np.array([[0, 2.0], [0, 0]]))) @ v, loss)
    assert (triplets.grad.to_numpy()[:, 2] == [3.0, 5.0, 0.0]).all()


def test_conjugate_gradients() -> None:
    ti.init(default_fp=ti.f64)
    A, b = filled(chain_matrix(30, 0.7)), np.linspace(-1, 1, 30)
    x, is_done = ti.linalg.SparseCG(A, b, np.ones(30), max_iter=60, atol=1e-10).solve()
    assert is_done
    np.testing.assert_allclose(x, np.linalg.solve(chain_matrix(30, 0.7), b), atol=1e-9)
    _, is_done = ti.linalg.SparseCG(A, b, max_iter=2, atol=1e-10).solve()
    assert not is_done


def test_what_a_solver_cannot_solve() -> None:
    ti.init(default_fp=ti.f64)
    ring = chain_matrix(8, 1.0) - np.eye(8)
    cases = [
        ("LU", np.array([[1.0, 2.0], [2.0, 4.0]]), "singular"),
        ("LDLT", ring, "singular"),
        ("LLT", ring, "singular"),
        ("LU", np.diag([1.0, 0.0]), "singular"),
        ("LLT", np.diag([1.0, -1.0]), "not positive definite"),
        ("LLT", np.array([[0.0, 1.0], [1.0, 0.0]]), "not positive definite|singular"),
        ("LLT", np.array([[2.0, 1.0], [0.0, 2.0]]), "not symmetric"),
    ]
    for kind, entries, message in cases:
        solver = ti.linalg.SparseSolver(ti.f64, kind)
        solver.compute(filled(entries))
        assert not solver.info()
        with pytest.raises(ti.TaichiRuntimeError, match=message):
            solver.solve(np.ones(len(entries)))
    for kind, entries in [
        ("LDLT", np.array([[0.0, 1.0], [1.0, 0.0]])),
        ("LU", np.diag([1e-30, 1e30])),
        ("LLT", np.diag([1e-30, 1e30])),
    ]:
        solver = ti.linalg.SparseSolver(ti.f64, kind)
        solver.compute(filled(entries))
        assert solver.info()
        found = solver.solve(np.ones(2))
        np.testing.assert_allclose(entries @ found, 1.0)


def test_bad_input_is_refused() -> None:
    ti.init(default_fp=ti.f64)
    builder = ti.linalg.SparseMatrixBuilder(3, 3, 4, ti.f64)
    with pytest.raises(ti.TaichiRuntimeError, match=r"13 triplets were added .* holds 4"):
        chain(builder, 3, 1.0)
        chain(builder, 1, 1.0)
        chain(builder, 1, 1.0)
        builder.build()
    assert builder.build().to_scipy().nnz == 0

    @ti.kernel
    def put(A: ti.types.sparse_matrix_builder(), i: int):
        A[i, 1] += 1.0

    put(builder, 3)
    with pytest.raises(ti.TaichiIndexError, match=r"\(3, 1\), outside a matrix of shape"):
        builder.build()
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"expected ti.types.sparse_matrix_builder"):
        put(np.zeros(3), 1)
    with pytest.raises(ti.TaichiRuntimeError, match="max_num_triplets as a positive"):
        ti.linalg.SparseMatrixBuilder(3, 3)
    with pytest.raises(
        ti.TaichiTypeError, match="f32 or f64 as the type of a sparse matrix, got i32"
    ):
        ti.linalg.SparseMatrix(3, 3, dtype=ti.i32)
    with pytest.raises(ti.TaichiRuntimeError, match="no solver QR"):
        ti.linalg.SparseSolver(solver_type="QR")
    A = filled(np.eye(3))
    with pytest.raises(ti.TaichiIndexError, match="outside"):
        _ = A[0, 3]
    with pytest.raises(ti.TaichiRuntimeError, match="do not fit"):
        A + filled(np.eye(4))
    with pytest.raises(ti.TaichiRuntimeError, match=r"shape \(2,\), expected \(3,\)"):
        A @ np.ones(2)
    solver = ti.linalg.SparseSolver(ti.f32)
    with pytest.raises(ti.TaichiRuntimeError, match="call compute"):
        solver.solve(np.ones(3))
    with pytest.raises(
        ti.TaichiRuntimeError, match="solver has type f32, but the matrix has type f64"
    ):
        solver.compute(A)


@pytest.mark.parametrize(
    "statement, message",
    [
        ("A[0, 0] = 1.0", "cannot be set"),
        ("A[0, 0] *= 2.0", "cannot be read"),
        ("x = A[0, 0]", "cannot be read"),
        ("A[0] += 1.0", "2 index axes"),
        ("A[0.5, 0] += 1.0", "must be an integer"),
        ("A += 1.0", "entry by entry"),
        ("A[0, 0] += ti.Vector([1.0, 2.0])", "expected a scalar to add"),
    ],
)
def test_what_kernels_cannot_do_with_a_builder(
    tmp_path: Path, statement: str, message: str
) -> None:
    ti.init()
    (tmp_path / "program.py").write_text(
        "import mlirad as ti\n\n@ti.kernel\n"
        f"def run(A: ti.types.sparse_matrix_builder()):\n    {statement}\n"
    )
    space: dict[str, Any] = {}
    path = str(tmp_path / "program.py")
    exec(compile(Path(path).read_text(), path, "exec"), space)
    with pytest.raises(ti.TaichiCompilationError, match=message):
        space["run"](ti.linalg.SparseMatrixBuilder(2, 2, 4))


def test_lost_derivatives_are_refused() -> None:
    ti.init(default_fp=ti.f64)
    loss = ti.ndarray(float, 1, needs_grad=True)
    triplets = ti.ndarray(float, (1, 3), needs_grad=True)
    message = "carries no derivative on a tape"
    with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(loss):
        A = ti.linalg.SparseMatrix(1, 1, dtype=ti.f64)
        A.build_from_ndarray(triplets)
        _ = A @ np.ones(1)


@pytest.mark.parametrize("in_order", [False, True])
def test_a_builder_without_a_gradient_says_what_it_loses(in_order: bool) -> None:
    ti.init(default_fp=ti.f64)
    p, loss = ti.field(float, (), needs_grad=True), ti.field(float, (), needs_grad=True)
    builder = ti.linalg.SparseMatrixBuilder(2, 2, 2, ti.f64)

    @ti.kernel
    def put(A: ti.types.sparse_matrix_builder()):
        ti.loop_config(serialize=in_order)
        for i in range(2):
            A[i, i] += p[None]
        loss[None] += p[None]

    if in_order:
        with pytest.warns(UserWarning, match="carries no derivative"), ti.ad.Tape(loss):
            put(builder)
            builder.build()
        assert p.grad[None] == 1.0
    else:
        refused = pytest.raises(ti.TaichiCompilationError, match="same parallel loop")
        with refused, ti.ad.Tape(loss):
            put(builder)
