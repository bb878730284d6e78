"""Time-indexed programs, whose gradients are cleared row by row, when a step uses them, and hold
NaNs until then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from deferred_writes import defer_all

import mlirad as ti
from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.deferred_writes import DeferredWrites
from mlirad.runtime.memory.deferred_writes.pending import Pending

N, STEPS = 12, 6
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, params=[1, 2])
def deferred(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    defer_all(monkeypatch)
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)


class Wave:
    """`u[t] = a u[t - 1] + neighbours - u[t - 2]`, in a box that leaves out `rim` cells at each
    end; the loss is the sum of w u[T - 1]²."""

    def __init__(self, rim: int) -> None:
        self.rim = rim
        self.u = ti.field(ti.f64, (STEPS, N, N), needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        random = np.random.default_rng(3)
        self.start = random.uniform(-1, 1, (STEPS, N, N))
        self.weights = random.uniform(0.5, 1, (N, N))
        w = ti.field(ti.f64, (N, N))
        w.from_numpy(self.weights)
        u, loss = self.u, self.loss

        @ti.kernel
        def step(t: ti.i32):
            for i, j in ti.ndrange((rim, N - rim), (rim, N - rim)):
                s = 1.5 * u[t - 1, i, j] - u[t - 2, i, j]
                if i > 0:
                    s += 0.2 * u[t - 1, i - 1, j]
                if j < N - 1:
                    s += 0.1 * u[t - 1, i, j + 1]
                u[t, i, j] = s

        @ti.kernel
        def add_up():
            for i, j in w:
                loss[None] += w[i, j] * u[STEPS - 1, i, j] ** 2

        self.step, self.add_up = step, add_up

    def run(self) -> None:
        for t in range(2, STEPS):
            self.step(t)
        self.add_up()

    def expected(self) -> Array:
        """The gradient of all states, as a person derives it; 0 where a step overwrote them."""
        inside = slice(self.rim, N - self.rim)
        u = self.start.copy()
        for t in range(2, STEPS):
            s = 1.5 * u[t - 1] - u[t - 2]
            s[1:] += 0.2 * u[t - 1, :-1]
            s[:, :-1] += 0.1 * u[t - 1, :, 1:]
            u[t, inside, inside] = s[inside, inside]
        g = np.zeros_like(u)
        g[-1] = 2 * self.weights * u[-1]
        for t in range(STEPS - 1, 1, -1):
            own = np.zeros((N, N))
            own[inside, inside] = g[t, inside, inside]
            g[t, inside, inside] = 0
            g[t - 1] += 1.5 * own
            g[t - 2] -= own
            g[t - 1, :-1] += 0.2 * own[1:]
            g[t - 1, :, 1:] += 0.1 * own[:, :-1]
        return g


@pytest.mark.parametrize("rim", [0, 1])
def test_steps_in_a_row(rim: int) -> None:
    wave = Wave(rim)
    for _ in range(3):
        wave.u.from_numpy(wave.start)
        with ti.ad.Tape(wave.loss):
            wave.run()
        np.testing.assert_allclose(wave.u.grad.to_numpy(), wave.expected(), rtol=1e-12, atol=1e-13)


@pytest.mark.cpu_code("rows of gradients")
@pytest.mark.parametrize("rim", [0, 1])
def test_rows_that_begin_at_0(rim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step adds to a whole row that nobody added to before: it is not cleared first, unless
    the step leaves out its rim."""
    begun, drop = list[tuple[int, int]](), DeferredWrites.without_zeros

    def note(writes: DeferredWrites, pending: Pending, box: KnownBox | None) -> Pending | None:
        left = drop(writes, pending, box)
        begun.extend([box[0]] if box is not None and left is not None else [])
        return left

    monkeypatch.setattr(DeferredWrites, "without_zeros", note)
    wave = Wave(rim)
    wave.u.from_numpy(wave.start)
    with ti.ad.Tape(wave.loss):
        wave.run()
    last = [(STEPS - 1, STEPS - 1)]  # of the loss
    assert begun == last + [(t - 2, t - 2) for t in range(STEPS - 1, 1, -1)] * (rim == 0)


@pytest.mark.parametrize("shift", [-2, 1, N])
def test_rows_that_wrap_around(shift: int) -> None:
    """A step takes what is `shift` cells before, on a periodic grid: its reverse adds to each
    element of the row before once."""
    u, loss = (
        ti.field(ti.f64, (STEPS, N, N), needs_grad=True),
        ti.field(ti.f64, (), needs_grad=True),
    )
    random = np.random.default_rng(5)
    start, weights = random.uniform(0.5, 1, (N, N)), random.uniform(0.5, 1, (N, N))
    w = ti.field(ti.f64, (N, N))
    w.from_numpy(weights)

    @ti.kernel
    def step(t: ti.i32):
        for i, j in w:
            s = u[t - 1, (i - shift) % N, (j + 3 + N) % N]
            u[t, i, j] = 1.5 * s - 0.1 * s * s

    @ti.kernel
    def add_up():
        for i, j in w:
            loss[None] += w[i, j] * u[STEPS - 1, i, j]

    for _ in range(2):
        first = np.zeros((STEPS, N, N))
        first[0] = start
        u.from_numpy(first)
        with ti.ad.Tape(loss):
            for t in range(1, STEPS):
                step(t)
            add_up()
        values = [start]
        for _ in range(1, STEPS):
            s = np.roll(values[-1], (shift, -3), (0, 1))
            values.append(1.5 * s - 0.1 * s * s)
        np.testing.assert_allclose(u.to_numpy(), values)
        # a step clears the adjoints of what it overwrites
        adjoint = weights
        for state in reversed(values[:-1]):
            s = np.roll(state, (shift, -3), (0, 1))
            adjoint = np.roll(adjoint * (1.5 - 0.2 * s), (-shift, 3), (0, 1))
        np.testing.assert_allclose(u.grad.to_numpy()[0], adjoint)
        np.testing.assert_array_equal(u.grad.to_numpy()[1:], 0)


@pytest.mark.parametrize("rim", [0, 1])
def test_single_reverses(rim: int) -> None:
    """Gradients that add up, of which some were set, and others are still to be cleared."""
    wave = Wave(rim)
    wave.u.from_numpy(wave.start)
    wave.run()
    for _ in range(2):
        wave.loss.grad[None] = 1.0
        ti.ad.clear_all_gradients()
        wave.loss.grad[None] = 1.0
        wave.add_up.grad()
        for t in range(STEPS - 1, 1, -1):
            assert wave.u.grad[t, N // 2, N // 2] == wave.u.grad[t, N // 2, N // 2]
            wave.step.grad(t)
        np.testing.assert_allclose(wave.u.grad.to_numpy(), wave.expected(), rtol=1e-12, atol=1e-13)


def test_a_seed_in_a_row() -> None:
    wave = Wave(0)
    wave.u.from_numpy(wave.start)
    wave.run()
    ti.ad.clear_all_gradients()
    wave.u.grad[1, 2, 3] = 7.0
    wave.loss.grad[None] = 1.0
    wave.add_up.grad()
    for t in range(STEPS - 1, 1, -1):
        wave.step.grad(t)
    wanted = wave.expected()
    # what was there in row 1 is added to, and nothing reads row 1 but the user
    wanted[1, 2, 3] += 7.0
    np.testing.assert_allclose(wave.u.grad.to_numpy(), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.cpu_code("a view of its memory")
def test_arrays_that_are_lent() -> None:
    """Who has a view of memory looks when he likes."""
    wave = Wave(0)
    wave.u.grad.fill(1.0)
    view = np.asarray(wave.u.grad)
    wave.step.grad(STEPS - 1)
    np.testing.assert_array_equal(np.asarray(view)[-1], 0)


def test_vectors_and_matrices() -> None:
    p = ti.Vector.field(2, ti.f64, (STEPS, N), needs_grad=True)
    m = ti.Matrix.field(2, 2, ti.f64, (STEPS, N), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(N):
            p[t, i] = m[t - 1, i] @ p[t - 1, i]
            m[t, i] = 0.5 * m[t - 1, i]

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += p[STEPS - 1, i].norm_sqr()

    random = np.random.default_rng(4)
    start, matrices = random.uniform(-1, 1, (N, 2)), random.uniform(-1, 1, (N, 2, 2))

    def last(vectors: Array, first: Array) -> Array:
        for t in range(STEPS - 1):
            vectors = np.einsum("nij,nj->ni", first * 0.5**t, vectors)
        return vectors

    for _ in range(2):
        p.fill(0.0)
        m.fill(0.0)
        for i in range(N):
            p[0, i], m[0, i] = start[i], matrices[i]
        with ti.ad.Tape(loss):
            for t in range(1, STEPS):
                step(t)
            add_up()
        end = last(start, matrices)
        np.testing.assert_allclose(loss[None], (end**2).sum(), rtol=1e-12)
        by_rows = [
            2 * np.einsum("ni,ni->n", end, last(np.tile(np.eye(2)[k], (N, 1)), matrices))
            for k in range(2)
        ]
        found = p.grad.to_numpy()
        np.testing.assert_allclose(found[0], np.stack(by_rows, -1), rtol=1e-11)
        assert (found[1:] == 0).all() and (m.grad.to_numpy()[1:] == 0).all()


def test_products_with_hessians() -> None:
    wave = Wave(1)
    wave.u.from_numpy(wave.start)
    start = ti.field(ti.f64, (N, N), needs_grad=True)
    u = wave.u

    @ti.kernel
    def begin():
        for i, j in start:
            u[0, i, j] = start[i, j] ** 2
            u[1, i, j] = start[i, j] ** 3

    def run() -> None:
        begin()
        wave.run()

    start.from_numpy(np.random.default_rng(5).uniform(0.5, 1, (N, N)))
    v = np.random.default_rng(6).uniform(-1, 1, (N, N))
    product = ti.ad.hvp(run, wave.loss, start, v)
    np.testing.assert_allclose(ti.ad.hvp(run, wave.loss, start, v), product, rtol=1e-13)
    gradients = []
    for sign in (1, -1):
        values = start.to_numpy()
        start.from_numpy(values + sign * 1e-6 * v)
        with ti.ad.Tape(wave.loss):
            run()
        gradients.append(start.grad.to_numpy())
        start.from_numpy(values)
    differences = (gradients[0] - gradients[1]) / 2e-6
    np.testing.assert_allclose(product, differences, rtol=1e-6, atol=1e-8)


def test_nested_blocks() -> None:
    """Their memory has more axes than the field: no row of it is one of the field's."""
    u, loss = ti.field(ti.f64), ti.field(ti.f64, (), needs_grad=True)
    ti.root.dense(ti.i, 2).dense(ti.ij, (2, N)).place(u)
    ti.root.lazy_grad()

    @ti.kernel
    def step(t: ti.i32):
        for i in range(N):
            u[t, i] = 2.0 * u[t - 1, i] + 0.5 * u[t - 2, i]

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += u[3, i]

    for _ in range(2):
        with ti.ad.Tape(loss):
            step(2)
            step(3)
            add_up()
        expected = np.repeat([[1.0], [4.5], [0.0], [0.0]], N, axis=1)
        np.testing.assert_array_equal(u.grad.to_numpy(), expected)


@pytest.mark.parametrize("kind", [ti.i32, ti.template()], ids=["at run time", "known"])
@pytest.mark.parametrize("first, last, t", [(0, N, 2), (-2, 5, 2), (3, N + 2, 2), (0, N, STEPS)])
def test_launches_that_fail(kind: Any, first: int, last: int, t: int) -> None:
    """A check that fails stops nothing: what launches set or add to is defined behind them,
    and what they do not reach, because it is out of bounds, is as it was."""
    ti.init(default_fp=ti.f64, debug=True, cpu_max_num_threads=2)
    u = ti.field(ti.f64, (STEPS, N), needs_grad=True)

    @ti.kernel
    def fill(t: kind, first: kind, last: kind):
        for i in range(first, last):
            assert i < 4 + u[1, 0], "late"
            u[t, i] = 3.0

    @ti.kernel
    def add(t: kind, first: kind, last: kind):
        for i in range(first, last):
            assert i < 4 + u[1, 0], "late"
            u.grad[t, i] += 2.0

    @ti.kernel
    def clear(t: kind, first: kind, last: kind):
        for i in range(first, last):
            assert i < 4 + u[1, 0], "late"
            u.grad[t, i] = 0.0

    expected = np.zeros((STEPS, N))
    expected[t : t + 1, max(first, 0) : last] = 1.0
    ti.ad.clear_all_gradients()
    for kernel in (fill, add):
        with pytest.raises(AssertionError):
            kernel(t, first, last)
    np.testing.assert_array_equal(u.to_numpy(), 3 * expected)
    np.testing.assert_array_equal(u.grad.to_numpy(), 2 * expected)
    u.grad.fill(1.0)
    for _ in range(2):
        with pytest.raises(AssertionError):
            clear(t, first, last)
    np.testing.assert_array_equal(u.grad.to_numpy(), 1 - expected)


def test_a_reverse_that_fails() -> None:
    """At the first number that is not finite: gradients are those of what ran until then."""
    u = ti.field(ti.f64, (STEPS, N), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(N):
            u[t, i] = ti.sqrt(u[t - 1, i])

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += u[STEPS - 1, i]

    u.fill(1.0)
    u[STEPS - 3, 3] = 0.0
    with (
        pytest.raises(AssertionError, match="not a finite number"),
        ti.ad.Tape(loss, anomaly=True),
    ):
        for t in range(STEPS - 2, STEPS):
            step(t)
        add_up()
    expected = np.zeros((STEPS, N))
    expected[STEPS - 2] = 0.5
    expected[STEPS - 2, 3] = np.inf
    np.testing.assert_array_equal(u.grad.to_numpy(), expected)
