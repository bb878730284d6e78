"""The programs of the documents this project was created from (seeds 000 to 003)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from gradients import check, names_both, scalar, scatter, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_sine() -> None:
    x, y = variable(), scalar()

    @ti.kernel
    def compute_y():
        y[None] = ti.sin(x[None])

    with ti.ad.Tape(y):
        compute_y()
    assert x.grad[None] == pytest.approx(np.cos(x[None]), rel=1e-14)
    assert y[None] == pytest.approx(np.sin(x[None]), rel=1e-14)


def test_gravity() -> None:
    count = 8
    x = ti.Vector.field(2, ti.f64, shape=count, needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=count)
    energy = scalar()
    scatter(x, 0.0, 1.0)

    @ti.kernel
    def compute_energy():
        for i, j in ti.ndrange(count, count):
            r = x[i] - x[j]
            energy[None] += -1 / r.norm(1e-3)

    @ti.kernel
    def advance():
        for i in x:
            v[i] += 1e-5 * -x.grad[i]
        for i in x:
            x[i] += 1e-5 * v[i]

    start = x.to_numpy()
    (gradient,) = check(compute_energy, [x], energy)
    r = start[:, None] - start[None]
    forces = -2 * (r / ((r**2).sum(-1, keepdims=True) + 1e-3) ** 1.5).sum(1)
    np.testing.assert_allclose(-gradient, forces, rtol=1e-10)
    np.testing.assert_allclose(gradient.sum(0), [0, 0], atol=1e-9)
    advance()
    np.testing.assert_allclose(v.to_numpy(), 1e-5 * forces, rtol=1e-10)
    np.testing.assert_allclose(x.to_numpy(), start + 1e-10 * forces, rtol=1e-12)


def test_energy_of_gravity_is_conserved() -> None:
    x = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=3)
    energy = scalar()
    x.from_numpy(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))

    @ti.kernel
    def compute_energy():
        for i, j in ti.ndrange(3, 3):
            energy[None] += -1 / (x[i] - x[j]).norm(1e-1)

    @ti.kernel
    def kick(dt: ti.f64):
        for i in x:
            v[i] -= dt * x.grad[i]

    @ti.kernel
    def drift(dt: ti.f64):
        for i in x:
            x[i] += dt * v[i]

    def total() -> float:
        with ti.ad.Tape(energy):
            compute_energy()
        return energy[None] + 0.5 * float((v.to_numpy() ** 2).sum())

    first = total()
    for _ in range(100):
        kick(5e-4)
        drift(1e-3)
        total()
        kick(5e-4)
    assert total() == pytest.approx(first, rel=1e-5)
    assert np.abs(v.to_numpy()).max() > 0.05


def test_two_losses() -> None:
    count = 16
    x, loss, loss2 = variable(count), scalar(), scalar()

    @ti.kernel
    def func():
        for i in x:
            loss[None] += x[i] ** 2
            loss2[None] += x[i]

    x.from_numpy(np.arange(count, dtype=np.float64))
    loss.grad[None] = loss2.grad[None] = 1
    func()
    func.grad()
    np.testing.assert_array_equal(x.grad.to_numpy(), 2 * np.arange(count) + 1)


# The four shapes of loops under "kernel simplicity".


def test_one_simple_loop() -> None:
    x, y, loss = variable(5), variable(5, seed=1), scalar()

    @ti.kernel
    def differentiable_task1():
        for i in x:
            x[i] = y[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def run() -> None:
        differentiable_task1()
        total()

    (gradient,) = check(run, [y], loss)
    np.testing.assert_allclose(gradient, 2 * y.to_numpy())


def test_one_nest_of_loops() -> None:
    x, loss = variable(4, 5, 6), scalar()

    @ti.kernel
    def differentiable_task2():
        for i in range(4):
            for j in range(5):
                for k in range(6):
                    loss[None] += x[i, j, k] ** 2 * (i + j + k)

    (gradient,) = check(differentiable_task2, [x], loss)
    np.testing.assert_allclose(gradient, 2 * x.to_numpy() * np.indices((4, 5, 6)).sum(0))


def test_two_loops_in_a_loop() -> None:
    x, y, loss = variable(10, 20), variable(10, 20, seed=1), scalar()

    @ti.kernel
    def differentiable_task3():
        for i in range(10):
            a = 0.0
            for j in range(20):
                a += x[i, j] * y[i, j]
            for j in range(20):
                loss[None] += ti.sin(a) * x[i, j]

    check(differentiable_task3, [x, y], loss)


def test_a_statement_beside_a_loop() -> None:
    x, loss = variable(10), scalar()

    @ti.kernel
    def differentiable_task4():
        loss[None] += x[0]
        for i in range(10):
            loss[None] += x[i] ** 2

    (gradient,) = check(differentiable_task4, [x], loss)
    np.testing.assert_allclose(gradient, 2 * x.to_numpy() + np.eye(10)[0])


def test_static_loops() -> None:
    x, loss = variable(10, 20), scalar()

    @ti.kernel
    def differentiable_task3():
        for i in range(10):
            for j in ti.static(range(20)):
                loss[None] += x[i, j] ** 2
            for j in ti.static(range(20)):
                loss[None] += x[i, j] * x[i, 19 - j]

    (gradient,) = check(differentiable_task3, [x], loss)
    np.testing.assert_allclose(gradient, 2 * x.to_numpy() + 2 * x.to_numpy()[:, ::-1])


# Exponentially weighted moving averages.

ROWS, COLUMNS = 3, 6
WEIGHTS = np.array([0.5**COLUMNS * 2] + [0.5 ** (COLUMNS - k) for k in range(1, COLUMNS)])


def expected_of_averages(data: np.ndarray) -> np.ndarray:
    """The gradient of the sum of squared last averages."""
    return 2 * (data @ WEIGHTS)[:, None] * WEIGHTS


@pytest.mark.parametrize("form", [1, 2])
def test_average_in_place(form: int) -> None:
    data, ewma, loss = variable(ROWS, COLUMNS), variable(ROWS), scalar()

    @ti.kernel
    def calc_ewma():
        for row in range(ROWS):
            for col in range(COLUMNS):
                if col == 0:
                    ewma[row] = data[row, col]
                elif ti.static(form == 1):
                    ewma[row] *= 0.5
                    ewma[row] += 0.5 * data[row, col]
                else:
                    ewma[row] = 0.5 * data[row, col] + 0.5 * ewma[row]

    @ti.kernel
    def calc_loss():
        for row in range(ROWS):
            loss[None] += ewma[row] ** 2

    def run() -> None:
        calc_ewma()
        calc_loss()

    (gradient,) = check(run, [data], loss)
    np.testing.assert_allclose(gradient, expected_of_averages(data.to_numpy()), rtol=1e-12)


@pytest.mark.parametrize("indirect", [False, True])
def test_average_with_an_explicit_tape(indirect: bool) -> None:
    data, tape, loss = variable(ROWS, COLUMNS), variable(ROWS, COLUMNS), scalar()
    sample = ti.field(ti.i32, shape=(ROWS, COLUMNS))

    @ti.kernel
    def prepare_sample():
        for row in range(ROWS):
            for col in range(COLUMNS):
                sample[row, col] = col

    @ti.kernel
    def calc_ewma():
        for row in range(ROWS):
            for col in range(COLUMNS):
                c = col
                if ti.static(indirect):
                    c = sample[row, col]
                if c == 0:
                    tape[row, c] = data[row, c]
                else:
                    tape[row, c] = tape[row, c - 1] * 0.5 + data[row, c] * 0.5

    @ti.kernel
    def calc_loss():
        for i in range(ROWS):
            loss[None] += tape[i, COLUMNS - 1] ** 2

    prepare_sample()

    def run() -> None:
        calc_ewma()
        calc_loss()

    (gradient,) = check(run, [data], loss)
    np.testing.assert_allclose(gradient, expected_of_averages(data.to_numpy()), rtol=1e-12)


def test_alpha_blending_in_a_local() -> None:
    data, loss = variable(ROWS, COLUMNS, low=0.1, high=0.6), scalar()

    @ti.kernel
    def blend():
        for row in range(ROWS):
            e = 0.0
            for col in range(COLUMNS):
                e = (1 - e) * data[row, col] + e
            loss[None] += e

    (gradient,) = check(blend, [data], loss)
    rest = 1 - data.to_numpy()
    np.testing.assert_allclose(gradient, rest.prod(1, keepdims=True) / rest, rtol=1e-12)


# Functions of seed 003.


def test_derivative_of_a_polynomial() -> None:
    x, y = scalar(), scalar()

    @ti.kernel
    def f():
        y[None] += x[None] ** 3 + 2 * x[None] ** 2 - 3 * x[None] + 1

    x[None], y.grad[None] = 1.0, 1.0
    f.grad()
    assert x.grad[None] == 4.0


def test_three_inputs() -> None:
    inputs, y = [scalar(), scalar(), scalar()], scalar()
    x1, x2, x3 = inputs

    @ti.kernel
    def f():
        y[None] += x1[None] ** 3 + 2 * x2[None] ** 2 - 3 * x3[None] + 1

    for x, value in zip(inputs, (1.0, 2.0, 3.0)):
        x[None] = value
    y.grad[None] = 1.0
    f.grad()
    assert [x.grad[None] for x in inputs] == [3.0, 8.0, -3.0]


# Layouts and ways to ask for gradients.


def by_shape(needs_grad: bool) -> tuple[Any, Any]:
    x = ti.field(ti.f64, shape=(4, 6), needs_grad=needs_grad)
    y = ti.Vector.field(2, ti.f64, shape=(4, 6), needs_grad=needs_grad)
    return x, y


def by_place(needs_grad: bool) -> tuple[Any, Any]:
    x = ti.field(ti.f64, needs_grad=needs_grad)
    y = ti.Vector.field(2, ti.f64, needs_grad=needs_grad)
    ti.root.dense(ti.ij, (2, 2)).dense(ti.ij, (2, 3)).place(x, y)
    return x, y


def by_both(needs_grad: bool) -> tuple[Any, Any]:
    x = ti.field(ti.f64, shape=(4, 6), needs_grad=needs_grad)
    y = ti.Vector.field(2, ti.f64, needs_grad=needs_grad)
    ti.root.dense(ti.i, 2).dense(ti.j, 6).dense(ti.i, 2).place(y)
    return x, y


ASKED = ("needs_grad", "lazy_grad", "by_hand", "by_hand_and_needs_grad", "all")


@pytest.mark.parametrize(
    "make, asked", list(itertools.product([by_shape, by_place, by_both], ASKED))
)
def test_layouts_and_gradients(make: Any, asked: str) -> None:
    x, y = make(asked in ("needs_grad", "by_hand_and_needs_grad", "all"))
    if asked in ("by_hand", "by_hand_and_needs_grad", "all") and make is not by_shape:
        placed = [y] if make is by_both else [x, y]
        ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (2, 2)).place(*[f.grad for f in placed])
    if asked in ("lazy_grad", "all") or (asked == "by_hand" and make is not by_place):
        ti.root.lazy_grad()
    loss = scalar()

    @ti.kernel
    def run():
        for i, j in x:
            loss[None] += x[i, j] * y[i, j].dot(y[3 - i, j]) ** 2

    scatter(x)
    scatter(y)
    check(run, [x, y], loss)
    assert x.grad.shape == x.shape == (4, 6)


def test_a_blocked_volume() -> None:
    volume = ti.field(ti.f64, needs_grad=True)
    ti.root.dense(ti.ijk, (2, 1, 2)).dense(ti.ijk, (2, 2, 2)).place(volume)
    ti.root.dense(ti.ijk, (2, 1, 2)).dense(ti.ijk, (2, 2, 2)).place(volume.grad)
    ti.root.lazy_grad()
    loss = scalar()
    scatter(volume)

    @ti.kernel
    def run():
        for i, j, k in volume:
            loss[None] += volume[i, j, k] * volume[3 - i, 1 - j, k] ** 2

    check(run, [volume], loss)


# Programs that break the data access rules inside a kernel: right under a tape, refused where
# nothing may be kept.

REFUSED = (ti.TaichiCompilationError, ti.TaichiRuntimeError)


def test_rule_1() -> None:
    x, loss = variable(16), scalar()
    b = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def func_broke_rule_1():
        loss[None] = x[1] * b[None]
        b[None] += 100

    @ti.kernel
    def func_equivalent():
        loss[None] = x[1] * 10

    for kernel in (func_broke_rule_1, func_equivalent):
        b[None] = 10
        check(kernel, [x], loss)
        with ti.ad.Tape(loss):
            kernel()
        assert x.grad[1] == 10.0
    with pytest.raises(REFUSED) as error, ti.ad.Tape(loss, rules="refuse"):
        func_broke_rule_1()
    names_both(error.value, "loss[None] = x[1] * b[None]", "b[None] += 100")
    with pytest.raises(REFUSED) as late:
        func_broke_rule_1.grad()
    names_both(late.value, "loss[None] = x[1] * b[None]", "b[None] += 100")


def test_rule_2() -> None:
    x, loss = variable(16), scalar()
    x.from_numpy(np.arange(16, dtype=np.float64))

    @ti.kernel
    def func_break_rule_2():
        loss[None] += x[1] ** 2
        loss[None] *= x[2]

    @ti.kernel
    def func_equivalent():
        loss[None] = (2 + x[1] ** 2) * x[2]

    check(func_break_rule_2, [x], loss)
    with pytest.raises(REFUSED) as error:
        func_break_rule_2.grad()
    names_both(error.value, "loss[None] *= x[2]")
    loss.grad[None] = 1
    func_equivalent()
    x.grad.fill(0)
    func_equivalent.grad()
    assert (x.grad[1], x.grad[2]) == (4.0, 3.0)


def test_a_counter_that_is_an_index() -> None:
    data, tape, loss = variable(ROWS, COLUMNS), variable(ROWS, COLUMNS), scalar()
    sample = ti.field(ti.i32, shape=ROWS)

    @ti.kernel
    def calc_ewma():
        for row in range(ROWS):
            for _ in range(COLUMNS):
                col_idx = sample[row]
                if col_idx == 0:
                    tape[row, col_idx] = data[row, col_idx]
                else:
                    tape[row, col_idx] = tape[row, col_idx - 1] * 0.5 + data[row, col_idx] * 0.5
                sample[row] += 1

    @ti.kernel
    def calc_loss():
        for i in range(ROWS):
            loss[None] += tape[i, COLUMNS - 1] ** 2

    def run() -> None:
        calc_ewma()
        calc_loss()

    (gradient,) = check(run, [data], loss)
    np.testing.assert_allclose(gradient, expected_of_averages(data.to_numpy()), rtol=1e-12)
    with pytest.raises(REFUSED) as error, ti.ad.Tape(loss, rules="refuse"):
        run()
    names_both(error.value, "col_idx = sample[row]", "sample[row] += 1")
