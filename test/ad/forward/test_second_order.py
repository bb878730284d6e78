"""Hessians against closed forms, products with them against finite differences of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import scalar, scatter, variable
from scipy.optimize import rosen_der, rosen_hess

import mlirad as ti
from mlirad.ad.forward.overwritten import OverwrittenFields
from mlirad.ad.recorder.program_mode import ProgramMode
from mlirad.lang.kernels.launch import Launch


@pytest.fixture(autouse=True, params=[1, 2], ids=["one_thread", "two_threads"])
def program(request: pytest.FixtureRequest) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)


def check_product(run: Callable[[], Any], x: Any, loss: Any, rel: float = 1e-6) -> None:
    """Compare a product with the Hessian with differences of gradients."""
    values = x.to_numpy()
    v = np.random.default_rng(3).uniform(-1, 1, values.shape)
    others = {name: memory.read() for name, memory in x.program.primals().items()}

    def gradient(h: float) -> np.ndarray[Any, Any]:
        for name, kept in reversed(others.items()):  # what is active goes back last
            x.program.fields[name].write(kept)
        x.from_numpy(values + h * v)
        with ti.ad.Tape(loss):
            run()
        found: np.ndarray[Any, Any] = x.grad.to_numpy()
        return found

    h = 2.0**-13
    expected = (8 * (gradient(h) - gradient(-h)) - (gradient(2 * h) - gradient(-2 * h))) / (12 * h)
    here = gradient(0.0)
    for name, kept in reversed(others.items()):  # what is active goes back last
        x.program.fields[name].write(kept)
    for _ in range(2):  # the second time it is known which tangents nobody reads
        found = ti.ad.hvp(run, loss=loss, wrt=x, v=v)
        assert found.shape == values.shape
        np.testing.assert_allclose(found, expected, rtol=rel, atol=rel * np.abs(expected).max())
    np.testing.assert_allclose(x.grad.to_numpy(), here, rtol=1e-12, atol=1e-13)
    for name, kept in reversed(others.items()):  # what is active goes back last
        if name != loss.symbol:
            np.testing.assert_array_equal(x.program.fields[name].read(), kept)


def test_rosenbrock() -> None:
    n = 11
    x, loss = variable(n, low=-1, high=1), scalar()

    @ti.kernel
    def f():
        for i in range(n - 1):
            loss[None] += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2

    values = x.to_numpy()
    found = ti.ad.hessian(f, loss=loss, wrt=x)
    np.testing.assert_allclose(found, rosen_hess(values), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x.grad.to_numpy(), rosen_der(values), rtol=1e-12)
    v = np.linspace(-1, 1, n)
    np.testing.assert_allclose(ti.ad.hvp(f, loss, x, v), rosen_hess(values) @ v, rtol=1e-12)
    check_product(f, x, loss)


def test_a_network_of_springs() -> None:
    n = 5
    x, loss = ti.Vector.field(2, ti.f64, shape=n, needs_grad=True), scalar()
    pairs = [(a, c) for a in range(n) for c in range(a) if (a + c) % 3]
    ends = ti.Vector.field(2, ti.i32, shape=len(pairs))
    ends.from_numpy(np.array(pairs, dtype=np.int32))
    scatter(x, -1, 1)
    stiffness, rest = 3.0, 0.4

    @ti.kernel
    def energy():
        for k in ends:
            d = x[ends[k][0]] - x[ends[k][1]]
            loss[None] += 0.5 * stiffness * (d.norm() - rest) ** 2

    points, expected = x.to_numpy(), np.zeros((n, 2, n, 2))
    for a, c in pairs:
        d = points[a] - points[c]
        length = np.sqrt(d @ d)
        block = stiffness * ((1 - rest / length) * np.eye(2) + rest / length**3 * np.outer(d, d))
        for i, j, sign in ((a, a, 1), (c, c, 1), (a, c, -1), (c, a, -1)):
            expected[i, :, j] += sign * block
    found = ti.ad.hessian(energy, loss=loss, wrt=x)
    assert found.shape == (n, 2, n, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_a_small_network_with_blocks() -> None:
    inputs, hidden, samples = 3, 4, 5
    w, u, loss = variable(hidden, inputs), variable(hidden, low=-1, high=1), scalar()
    data, wanted, layer = (
        ti.field(ti.f64, (samples, inputs)),
        ti.field(ti.f64, samples),
        variable(samples, hidden),
    )
    scatter(data)
    scatter(wanted)

    @ti.kernel
    def forward():
        for s, h in layer:
            total = 0.0
            for i in range(inputs):
                total += w[h, i] * data[s, i]
            layer[s, h] = ti.tanh(total)

    @ti.kernel
    def error():
        for s in range(samples):
            out = -wanted[s]
            for h in range(hidden):
                out += u[h] * layer[s, h]
            loss[None] += out**2

    def run() -> None:
        forward()
        error()

    a, c, d, y = w.to_numpy(), u.to_numpy(), data.to_numpy(), wanted.to_numpy()
    z = np.tanh(d @ a.T)
    slope, curve, out = 1 - z**2, -2 * z * (1 - z**2), z @ c - y
    uu = 2 * z.T @ z
    by_w = np.einsum("h,sh,si->shi", c, slope, d)  # the derivative of each output in w
    ww = 2 * np.einsum("shi,skj->hikj", by_w, by_w)
    own = 2 * np.einsum("s,h,sh,si,sj->hij", out, c, curve, d, d)
    for h in range(hidden):
        ww[h, :, h] += own[h]
    wu = 2 * np.einsum("shi,sk->hik", by_w, z)
    extra = 2 * np.einsum("s,sh,si->hi", out, slope, d)
    for h in range(hidden):
        wu[h, :, h] += extra[h]
    blocks = ti.ad.hessian(run, loss=loss, wrt=[w, u])
    np.testing.assert_allclose(blocks[0][0], ww, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(blocks[1][1], uu, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(blocks[0][1], wu, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(blocks[1][0], np.moveaxis(wu, 2, 0), rtol=1e-11, atol=1e-12)
    moves = [np.ones_like(a), np.arange(hidden) * 0.3]
    products = ti.ad.hvp(run, loss=loss, wrt=[w, u], v=moves)
    np.testing.assert_allclose(
        products[0], np.einsum("hikj,kj->hi", ww, moves[0]) + wu @ moves[1], rtol=1e-11
    )


def test_loops_branches_and_saved_values() -> None:
    n = 6
    x, state, loss = variable(n), variable(n), scalar()

    @ti.kernel
    def step(t: ti.i32):
        for i in range(n):
            s = state[i]
            k = 0
            while s < 3.0:
                s = s * s + x[i]
                k += 1
                if k > 4:
                    break
            for _ in range(t + 1):
                s = ti.sin(s) * x[i] if s > 0.2 else s * x[i] + 0.1
            state[i] *= s

    @ti.kernel
    def total():
        for i in range(n):
            loss[None] += state[i] ** 2 * x[(i + 1) % n]

    def run() -> None:
        state.fill(0.8)
        state[2] = 0.3
        for t in range(4):
            step(t)
        total()

    check_product(run, x, loss)


def test_serial_sweeps_in_place() -> None:
    """Gauss-Seidel: a launch overwrites what its own reverse reads, and a later one what an
    earlier's does."""
    n = 8
    x, u, loss = variable(n), variable(n), scalar()

    @ti.kernel
    def sweep():
        ti.loop_config(serialize=True)
        for i in range(1, n - 1):
            u[i] = 0.3 * u[i - 1] * u[i + 1] + ti.cos(u[i]) * x[i]

    @ti.kernel
    def total():
        for i in range(n):
            loss[None] += u[i] ** 3

    def run() -> None:
        for i in range(n):
            u[i] = 0.1 * i
        sweep()
        sweep()
        sweep()
        total()

    check_product(run, x, loss)


def test_copies_and_fields_without_gradient() -> None:
    n = 4
    x, old, loss = variable(n), variable(n), scalar()
    new = ti.field(ti.f64, shape=n)

    @ti.kernel
    def move():
        for i in range(n):
            new[i] = old[i] * ti.exp(-x[i]) + x[i] ** 2

    @ti.kernel
    def total():
        for i in range(n):
            loss[None] += old[i] ** 2

    def run() -> None:
        old.fill(0.5)
        for _ in range(3):
            move()
            old.copy_from(new)
        total()

    with pytest.warns(UserWarning, match="'new'"):
        check_product(run, x, loss)


def test_fields_of_one_element() -> None:
    loss = ti.field(ti.f64, (), needs_grad=True)
    a = ti.field(ti.f64, (), needs_grad=True)
    b = ti.Vector.field(2, ti.f64, (), needs_grad=True)
    a[None], b[None] = 3.0, [2.0, -1.0]

    @ti.kernel
    def run():
        loss[None] += a[None] ** 2 * b[None][0] + a[None] * b[None][1] ** 3

    (aa, ab), (ba, bb) = ti.ad.hessian(run, loss, [a, b])
    assert aa == pytest.approx(2 * 2.0) and aa.shape == ()
    np.testing.assert_allclose(ab, [2 * 3.0, 3.0], rtol=1e-15)
    np.testing.assert_allclose(ba, ab, rtol=1e-15)
    np.testing.assert_allclose(bb, [[0.0, 0.0], [0.0, 3.0 * 6 * -1.0]], rtol=1e-15)


def test_where_gradients_are_stopped() -> None:
    x, y, loss = variable(3), variable(3), scalar()

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    @ti.ad.no_grad
    def quiet() -> None:
        square()

    @ti.kernel
    def total():
        for i in x:
            loss[None] += y[i] * x[i] ** 2

    def run() -> None:
        quiet()
        total()

    np.testing.assert_allclose(
        ti.ad.hessian(run, loss, x), np.diag(2 * x.to_numpy() ** 2), rtol=1e-13
    )

    @ti.ad.grad_replaced
    def own() -> None:
        square()

    @ti.ad.grad_for(own)
    def own_grad() -> None:
        square.grad()

    with pytest.raises(ti.TaichiRuntimeError, match="'own' has its own gradient"):
        ti.ad.hvp(own, loss, x, np.ones(3))


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "pointer"])
def test_only_what_is_overwritten_is_kept(monkeypatch: pytest.MonkeyPatch, is_sparse: bool) -> None:
    count, steps = 64, 5
    x, big, loss = variable(count), variable(100_000), scalar()
    kind, trace = ti.field(ti.i32, count), ti.field(ti.f64, (steps, count), needs_grad=True)
    tree = ti.field(ti.f64, needs_grad=True)
    blocks = ti.root.pointer(ti.i, 16) if is_sparse else ti.root.dense(ti.i, 16)
    blocks.dense(ti.i, 4).place(tree, tree.grad)
    trace.from_numpy(np.random.default_rng(0).random((steps, count)))

    @ti.kernel
    def step(t: ti.i32):
        for i in x:
            trace[t, i] = ti.sin(x[i] * big[i] + trace[t - 1, i])

    @ti.kernel
    def finish():
        for i in x:
            x[i] = ti.sin(x[i] * trace[steps - 1, i])
            tree[i // 2] += x[i] ** 2
        for i in range(32):
            loss[None] += tree[i] ** 2

    @ti.kernel
    def count_up():
        for i in kind:
            kind[i] += 1

    def run() -> None:
        for t in range(1, steps):
            step(t)
        count_up()
        kind[5] = 7
        finish()
        finish()

    kept, restore = [], OverwrittenFields.restore

    def restored(self: OverwrittenFields) -> None:
        kept.append(sum(one.nbytes for one in {**self._kept, **self._copies}))
        restore(self)

    monkeypatch.setattr(OverwrittenFields, "restore", restored)
    before = {name: memory.read() for name, memory in x.program.primals().items()}
    v = np.random.default_rng(3).uniform(-1, 1, count)
    found = [ti.ad.hvp(run, loss=loss, wrt=x, v=v) for _ in range(2)]
    assert found[0].tobytes() == found[1].tobytes()
    memories = x.program.primals().items()
    changed = [name for name, one in memories if not one.elements.equals(before[name])]
    assert changed == [loss.symbol]
    overwritten = 8 * (trace.shape[0] - 1) * count + 8 * count + 4 * (count + 1) + 8 * count
    assert kept == [pytest.approx(overwritten, rel=0.2)] * 2
    check_product(run, x, loss)


def test_tangents_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches whose tangents nobody reads run without them, until somebody does."""
    n = 7
    x, y, loss, squared = variable(n, low=1, high=2), variable(n), scalar(), scalar()
    weights, v = np.arange(1.0, n + 1), np.linspace(-1, 1, n)

    @ti.kernel
    def cube():
        for i in x:
            y[i] = x[i] ** 3

    @ti.kernel
    def add_up():
        for i in y:
            loss[None] += y[i] * (i + 1)

    @ti.kernel
    def square():
        squared[None] = loss[None] ** 2

    def weigh() -> None:
        cube()
        add_up()

    def weigh_and_square() -> None:
        loss.fill(0)
        weigh()
        square()

    modes: list[str] = []
    run = ProgramMode.run

    def note_mode(self: ProgramMode, launch: Launch) -> Any:
        modes.append(f"{launch.variant.kernel.name} {self._primal_mode(launch.variant)}")
        return run(self, launch)

    monkeypatch.setattr(ProgramMode, "run", note_mode)
    at = x.to_numpy()
    gradient, total = 3 * at**2 * weights, (at**3 * weights).sum()
    alone = 6 * at * weights * v
    with_tangents, without = ([f"cube {mode}", f"add_up {mode}"] for mode in ("forward", "primal"))
    for expected_modes in (with_tangents, without):
        modes.clear()
        np.testing.assert_allclose(ti.ad.hvp(weigh, loss, x, v), alone)
        assert modes == expected_modes
    expected = 2 * gradient * (gradient @ v) + 2 * total * alone
    for expected_modes in (
        [*without, "square forward", *with_tangents, "square forward"],
        [*with_tangents, "square primal"],
    ):
        modes.clear()
        np.testing.assert_allclose(ti.ad.hvp(weigh_and_square, squared, x, v), expected)
        assert modes == expected_modes
    np.testing.assert_allclose(ti.ad.hvp(weigh, loss, x, v), alone)


def test_bad_requests() -> None:
    x, loss, k = variable(3), scalar(), ti.field(ti.i32, shape=3)

    @ti.kernel
    def f():
        for i in x:
            loss[None] += x[i] ** 2

    with pytest.raises(
        ti.TaichiTypeError, match=r"a vector of shape \(2,\) for field 'x' of shape \(3,\)"
    ):
        ti.ad.hvp(f, loss, x, [1.0, 2.0])
    with pytest.raises(
        ti.TaichiTypeError, match="expected a float field to differentiate with respect to"
    ):
        ti.ad.hvp(f, loss, k, np.ones(3))
    with pytest.raises(ti.TaichiTypeError, match="twice in the list"):
        ti.ad.hvp(f, loss, [x, x], [np.ones(3), np.ones(3)])
    with pytest.raises(ti.TaichiTypeError, match="1 vectors for 2 fields"):
        ti.ad.hvp(f, loss, [x, loss], [np.ones(3)])
    with pytest.raises(ti.TaichiTypeError, match="the loss of a Hessian"):
        ti.ad.hessian(f, 3.0, x)  # type: ignore[arg-type]
    np.testing.assert_allclose(ti.ad.hvp(f, loss, x, np.ones(3)), 2 * np.ones(3))
