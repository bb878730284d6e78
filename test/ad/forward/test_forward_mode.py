"""Forward mode: tangents of losses, against closed forms and finite differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gradients import scalar, scatter, variable

import mlirad as ti


@pytest.fixture(autouse=True, params=[1, 2], ids=["one_thread", "two_threads"])
def program(request: pytest.FixtureRequest) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)


def dual(*shape: int, low: float = 0.5, high: float = 1.5) -> Any:
    """A field with a dual, filled with numbers between two bounds."""
    x = ti.field(ti.f64, shape=shape, needs_dual=True)
    scatter(x, low, high)
    return x


def test_a_jacobian_by_columns_and_at_once() -> None:
    n = 5
    x, y = dual(n), ti.field(ti.f64, shape=n, needs_dual=True)

    @ti.kernel
    def f() -> ti.f64:
        for i in range(n):
            y[i] = ti.sin(x[i]) * x[(i + 1) % n]
        return 2.5

    values = x.to_numpy()
    expected = np.diag(np.cos(values) * np.roll(values, -1)) + np.diag(np.sin(values)) @ np.roll(
        np.eye(n), 1, 1
    )
    for k in range(n):
        with ti.ad.FwdMode(loss=y, param=x, seed=[float(k == j) for j in range(n)]):
            assert f() == 2.5
        np.testing.assert_allclose(y.dual.to_numpy(), expected[:, k], atol=1e-15)
        assert not x.dual.to_numpy().any(), "the seed is taken back"
    with ti.ad.FwdMode(y, x, np.eye(n)) as mode:
        f()
    np.testing.assert_allclose(mode.tangents(y).T, expected, atol=1e-15)
    np.testing.assert_allclose(y.to_numpy(), np.sin(values) * np.roll(values, -1), atol=1e-15)


def test_several_losses_and_parameters() -> None:
    x, a, u, v = dual(3, 2), dual(), dual(), ti.Vector.field(2, ti.f64, shape=(), needs_dual=True)

    @ti.kernel
    def f():
        u[None] = 0.0
        v[None] = ti.Vector([0.0, 0.0])
        for i, j in x:
            u[None] += a[None] * x[i, j] ** 2
            v[None][j] += x[i, j] / a[None]

    move, change = np.arange(6.0).reshape(3, 2), 0.7
    with ti.ad.FwdMode([u, v], [x, a], [move, change]):
        f()
    values, factor = x.to_numpy(), a[None]
    np.testing.assert_allclose(
        u.dual[None], (2 * factor * values * move).sum() + change * (values**2).sum()
    )
    np.testing.assert_allclose(
        v.dual.to_numpy(), (move / factor - change * values / factor**2).sum(0)
    )


def test_loops_branches_and_updates_in_place() -> None:
    n = 6
    x, state, loss = dual(n), dual(n), scalar()

    @ti.kernel
    def step(t: ti.i32):
        for i in range(n):
            s = state[i]
            k = 0
            while s < 4.0:
                s = s * 1.5 + x[i]
                k += 1
                if k > 6:
                    break
            for j in range(t):
                s = ti.tanh(s) + (x[i] if j % 2 == 0 else s * x[i])
            state[i] *= s
            state[i] -= x[(i + t) % n]

    @ti.kernel
    def total():
        for i in range(n):
            loss[None] += state[i] ** 2

    start, values = state.to_numpy(), x.to_numpy()
    move = np.linspace(-1, 1, n)

    def run(h: float) -> float:
        state.from_numpy(start)
        x.from_numpy(values + h * move)
        loss[None] = 0
        for t in range(4):
            step(t)
        total()
        return float(loss[None])

    h = 1e-4
    expected = (8 * (run(h) - run(-h)) - (run(2 * h) - run(-2 * h))) / (12 * h)
    state.from_numpy(start)
    x.from_numpy(values)
    loss[None] = 0
    with ti.ad.FwdMode(loss, x, move):
        for t in range(4):
            step(t)
        total()
    np.testing.assert_allclose(loss.dual[None], expected, rtol=1e-8)


@pytest.mark.parametrize("kind", ["max", "min", "mul"])
def test_atomic_choices_take_their_tangent_along(kind: str) -> None:
    n = 1000
    x, best = dual(n), dual()

    @ti.kernel
    def f():
        best[None] = 1.0
        for i in x:
            if ti.static(kind == "max"):
                ti.atomic_max(best[None], x[i])
            elif ti.static(kind == "min"):
                ti.atomic_min(best[None], x[i])
            else:
                ti.atomic_mul(best[None], ti.exp(0.001 * x[i]))

    move = np.arange(n) * 0.1
    with ti.ad.FwdMode(best, x, move):
        f()
    values = x.to_numpy()
    expected = {
        "max": move[values.argmax()],
        "min": move[values.argmin()],
        "mul": 0.001 * move.sum() * np.exp(0.001 * values.sum()),
    }[kind]
    np.testing.assert_allclose(best.dual[None], expected, rtol=1e-12)


def test_what_python_writes_is_constant_and_copies_carry_tangents() -> None:
    x, y, z, loss = dual(3), dual(3), ti.field(ti.f64, shape=3, needs_grad=True), scalar()

    @ti.kernel
    def double():
        for i in x:
            y[i] = 2 * x[i]

    @ti.kernel
    def total():
        for i in z:
            loss[None] += z[i]

    with ti.ad.FwdMode(loss, x, [1.0, 10.0, 100.0]):
        double()
        z.copy_from(y)
        z[1] = 7.0
        total()
    assert loss.dual[None] == 202.0
    with ti.ad.FwdMode(loss, x, [1.0, 10.0, 100.0]):
        double()
        z.copy_from(y)
        z.fill(3.0)
        total()
    assert loss.dual[None] == 0.0


def test_stopped_values_and_functions_without_gradient() -> None:
    x, y, loss = dual(), dual(), dual()

    @ti.kernel
    def f():
        factor = x[None]
        ti.stop_grad(x)
        loss[None] = factor * x[None]

    @ti.kernel
    def g():
        y[None] = x[None] * 3
        loss[None] += y[None]

    with ti.ad.FwdMode(loss, x):
        f()
    assert loss.dual[None] == x[None]

    @ti.ad.no_grad
    def quiet() -> None:
        g()

    with ti.ad.FwdMode(loss, x):
        f()
        quiet()
    assert (
        loss.dual[None] == x[None]
        and y.dual[None] == 0
        and loss[None] == x[None] ** 2 + 3 * x[None]
    )

    @ti.ad.grad_replaced
    def own() -> None:
        g()

    @ti.ad.grad_for(own)
    def own_grad() -> None:
        g.grad()

    with (
        pytest.raises(ti.TaichiRuntimeError, match="'own' has its own gradient"),
        ti.ad.FwdMode(loss, x),
    ):
        own()
    with ti.ad.FwdMode(loss, x):  # the failed one is over
        f()
    assert loss.dual[None] == x[None]


def test_a_field_without_dual_in_the_chain() -> None:
    x, loss = dual(3), ti.field(ti.f64, shape=(), name="loss")
    between = ti.field(ti.f64, shape=3)

    @ti.kernel
    def first():
        for i in x:
            between[i] = x[i] ** 2

    @ti.kernel
    def second():
        loss[None] = 0.0
        for i in x:
            loss[None] += between[i]

    def run() -> None:
        with ti.ad.FwdMode(loss, x, np.ones(3)):
            first()
            second()

    with pytest.warns(
        UserWarning,
        match=r"field 'between' .* has no dual, but carries a derivative .*between -> loss",
    ):
        run()
    np.testing.assert_allclose(loss.dual[None], 2 * x.to_numpy().sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()  # warned once
    np.testing.assert_allclose(loss.dual[None], 2 * x.to_numpy().sum())


def test_arrays() -> None:
    x = ti.ndarray(ti.f64, 4, needs_grad=True)
    y = ti.ndarray(ti.f64, 4, needs_grad=True)
    plain = ti.ndarray(ti.f64, 4)
    scatter(x)

    @ti.kernel
    def f(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            b[i] = a[i] ** 3

    with ti.ad.FwdMode(y, x, np.eye(4)[1:3]) as mode:
        f(x, y)
    np.testing.assert_allclose(mode.tangents(y), np.diag(3 * x.to_numpy() ** 2)[1:3])
    with (
        pytest.raises(
            ti.TaichiRuntimeError, match="a derivative passes to array argument 1 of kernel 'f'"
        ),
        ti.ad.FwdMode(y, x, np.ones(4)),
    ):
        f(x, plain)


def test_duals_placed_by_hand_and_lazily() -> None:
    x, y = ti.field(ti.f64), ti.field(ti.f64)
    ti.root.dense(ti.i, 4).place(x, x.dual)
    ti.root.place(y)
    ti.root.lazy_dual()
    scatter(x)

    @ti.kernel
    def f():
        for i in x:
            y[None] += ti.log(x[i])

    with ti.ad.FwdMode(y, x, np.arange(4.0)):
        f()
    np.testing.assert_allclose(y.dual[None], (np.arange(4) / x.to_numpy()).sum())


def test_random_numbers_are_those_of_the_primal() -> None:
    x, y = dual(100), dual(100)

    @ti.kernel
    def f():
        for i in x:
            y[i] = x[i] * ti.random()

    with ti.ad.FwdMode(y, x, np.ones(100)):
        f()
    np.testing.assert_allclose(y.dual.to_numpy(), y.to_numpy() / x.to_numpy())


def test_branches_not_taken_contribute_nothing() -> None:
    x, y = dual(2), dual(2)

    @ti.kernel
    def f():
        for i in x:
            y[i] = ti.select(x[i] > 0, ti.sqrt(x[i]) + ti.log(x[i]) + 1 / x[i], 3 * x[i])

    x.from_numpy(np.array([0.0, 4.0]))
    with ti.ad.FwdMode(y, x, [1.0, 1.0]):
        f()
    np.testing.assert_allclose(y.dual.to_numpy(), [3.0, 0.25 + 0.25 - 1 / 16])


def test_bad_requests() -> None:
    x, y, k, tape_loss = dual(3), dual(), ti.field(ti.i32, shape=()), variable()
    with pytest.raises(RuntimeError, match="`seed` is not set"):
        ti.ad.FwdMode(y, x)
    with pytest.raises(
        ti.TaichiTypeError, match=r"seed of shape \(2,\) for a parameter of shape \(3,\)"
    ):
        ti.ad.FwdMode(y, x, [1.0, 2.0])
    with pytest.raises(ti.TaichiTypeError, match="1 seeds for 2 parameters"):
        ti.ad.FwdMode(y, [x, y], [np.ones(3)])
    with pytest.raises(ti.TaichiTypeError, match=r"seeds of \[1, 2\] directions"):
        ti.ad.FwdMode(y, [x, y], [np.ones(3), np.ones(2)])
    with pytest.raises(ti.TaichiTypeError, match="a field twice"):
        ti.ad.FwdMode(y, [x, x], [np.ones(3), np.ones(3)])
    for wrong in (k, 3.0, x.grad):
        with pytest.raises(ti.TaichiTypeError, match="must be a float field"):
            ti.ad.FwdMode(wrong, y)
    with ti.ad.Tape(), pytest.raises(ti.TaichiRuntimeError, match="cannot be nested"):
        ti.ad.FwdMode(y, x, np.ones(3)).__enter__()
    mode = ti.ad.FwdMode(y, x, np.ones(3))
    with (
        mode,
        pytest.raises(ti.TaichiRuntimeError, match="inside a program that is differentiated"),
    ):
        ti.ad.Tape(tape_loss, rules="refuse").__enter__()
    with pytest.raises(AssertionError, match="entered only once"):
        mode.__enter__()


def test_a_parameter_that_is_an_output() -> None:
    """A state that a step overwrites: its tangent is there behind the step."""
    state = ti.Vector.field(2, ti.f64, shape=(), needs_dual=True)

    @ti.kernel
    def step():
        x, v = state[None][0], state[None][1]
        state[None] = ti.Vector([x + 0.1 * v, v - 0.1 * x])

    for direction, expected in (([1.0, 0.0], [1.0, -0.1]), ([0.0, 1.0], [0.1, 1.0])):
        with ti.ad.FwdMode(state, state, seed=direction):
            step()
        assert state.dual.to_numpy() == pytest.approx(expected)


@pytest.mark.parametrize("make", ["field", "vector", "ndarray"])
def test_a_dual_after_several_directions_is_refused(make: str) -> None:
    x = ti.field(ti.f64, 3, needs_grad=True)
    y: Any
    if make == "ndarray":
        y = ti.ndarray(ti.f64, 3, needs_grad=True)
    elif make == "vector":
        y = ti.Vector.field(1, ti.f64, 3)
    else:
        y = ti.field(ti.f64, 3)

    @ti.kernel
    def cube(y: ti.template()):
        for i in x:
            y[i] = x[i] ** 3

    @ti.kernel
    def cube_array(y: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in x:
            y[i] = x[i] ** 3

    run = cube_array if make == "ndarray" else cube
    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with ti.ad.FwdMode(y, x, seed=np.eye(3)) as forward:
        run(y)
    expected = np.diag([3.0, 12.0, 27.0])
    assert np.array_equal(forward.tangents(y).reshape(3, 3), expected)
    with pytest.raises(ti.TaichiRuntimeError, match=r"3 directions.*forward.tangents\(x\)"):
        _ = y.dual
    with ti.ad.FwdMode(y, x, seed=[0.0, 1.0, 0.0]):
        run(y)
    assert y.dual.to_numpy().ravel().tolist() == [0, 12, 0]
