"""Gradients that a program on a tape uses as memory: written by kernels and Python, copied, read
beside their fields, in every layout; after the tape they hold the derivative of its loss."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gradients import State, check, integers, scalar, scatter, slope, variable

import mlirad as ti
from mlirad import te

N = 4


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(default_fp=ti.f64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"field 'f' .* has no gradient, but")
        yield


class Simple:
    """Steps of descent along the gradient of an energy."""

    def __init__(self, x: Any = None) -> None:
        self.x = x = variable(N, seed=1) if x is None else x
        self.total, self.loss = total, loss = scalar(), scalar()

        @ti.kernel
        def energy():
            for i in range(N):
                total[None] += ti.sin(x[i]) * x[(i + 1) % N] ** 2

        @ti.kernel
        def descend():
            for i in range(N):
                x[i] -= 0.1 * x.grad[i] * x[i]

        @ti.kernel
        def measure():
            for i in range(N):
                loss[None] += x[i] ** 2

        self.energy, self.descend, self.measure = energy, descend, measure

    def clear(self) -> None:
        """What every step begins with."""
        self.x.grad.fill(0.0)
        self.total.grad[None] = 1.0

    def run(self) -> None:
        """Two steps, and the loss."""
        for _ in range(2):
            self.clear()
            self.energy.grad()
            self.descend()
        self.measure()


def test_a_kernel_that_uses_a_gradient_beside_its_field() -> None:
    program = Simple()
    check(program.run, [program.x], program.loss)


def test_a_loss_made_of_gradients() -> None:
    program = Simple()
    x, loss = program.x, program.loss

    @ti.kernel
    def norm():
        for i in x:
            loss[None] += x.grad[i] ** 2

    def run() -> None:
        program.clear()
        program.energy.grad()
        norm()

    check(run, [x], loss)


def test_gradients_that_add_up() -> None:
    program = Simple()

    def run() -> None:
        ti.ad.clear_all_gradients()
        program.total.grad[None] = 0.7
        for _ in range(3):
            program.energy.grad()
            program.descend()
        program.measure()

    check(run, [program.x], program.loss)


def test_gradients_that_kernels_write() -> None:
    program, w = Simple(), variable(seed=4)
    x, total = program.x, program.total

    @ti.kernel
    def seed():
        total.grad[None] = w[None] ** 2
        for i in x:
            x.grad[i] = 0.1 * x[i]

    def run() -> None:
        for _ in range(2):
            seed()
            program.energy.grad()
            program.descend()
        program.measure()

    check(run, [x, w], program.loss)


def test_gradients_that_python_writes_and_copies() -> None:
    program, v, f = Simple(), variable(N, seed=6), ti.field(ti.f64, N)
    x = program.x

    @ti.kernel
    def push():
        for i in x:
            x[i] -= 0.1 * f[i] ** 2 * v[i]

    def run() -> None:
        for _ in range(2):
            program.clear()
            x[1] = 0.7
            program.energy.grad()
            f.copy_from(x.grad)
            push()
            x.grad[2] = 5.0
            program.descend()
            x.grad.copy_from(v)
            program.descend()
            v.copy_from(x)
        program.measure()

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "x.* is written in Python inside a tape")
        check(run, [x, v], program.loss)


def test_the_chain_of_two_kernels_by_hand() -> None:
    program, y = Simple(), variable(N, seed=9)
    x, total = program.x, program.total

    @ti.kernel
    def first():
        for i in x:
            y[i] = x[i] ** 2 * ti.sin(x[i])

    @ti.kernel
    def second():
        for i in x:
            total[None] += y[i] * y[(i + 1) % N]

    def run() -> None:
        for _ in range(2):
            ti.ad.clear_all_gradients()
            total.grad[None] = 1.0
            first()
            second()
            second.grad()
            first.grad()
            program.descend()
        program.measure()

    check(run, [x], program.loss)


def test_a_kernel_that_updates_in_place() -> None:
    x, c, loss = variable(N), variable(N, seed=8), scalar()

    @ti.kernel
    def scale():
        for i in x:
            x[i] *= 1.5
            x[i] += c[i] ** 2

    @ti.kernel
    def use():
        for i in x:
            loss[None] += x[i] * x.grad[i] ** 2 + c.grad[i] ** 3

    def run() -> None:
        x.grad.from_numpy(np.arange(1.0, 5.0))
        c.grad.fill(0.5)
        scale()
        scale.grad()
        use()

    check(run, [x, c], loss)


def test_stores_by_an_index_that_is_read() -> None:
    x, y, total, loss = variable(N), variable(N, seed=3), scalar(), scalar()
    order = integers(2, 0, 3, 1)

    @ti.kernel
    def energy():
        for i in x:
            y[order[i]] = ti.sin(x[i]) * x[i]
        for i in x:
            total[None] += y[i] ** 3

    @ti.kernel
    def use():
        for i in x:
            loss[None] += x.grad[i] ** 2

    def run() -> None:
        x.grad.fill(0.0)
        y.grad.fill(0.0)
        total.grad[None] = 1.0
        energy()
        energy.grad()
        use()

    check(run, [x], loss)
    order.from_numpy(np.array([1, 1, 0, 2], np.int32))
    with (
        pytest.raises(ti.TaichiRuntimeError, match=r"is written here in iteration [01] of"),
        ti.ad.Tape(loss),
    ):
        run()


@pytest.mark.parametrize("layout", ["nested", "beside", "apart", "pointer", "bitmasked", "list"])
def test_layouts(layout: str) -> None:
    x = ti.field(ti.f64, needs_grad=True)
    if layout == "nested":
        ti.root.dense(ti.i, 2).dense(ti.i, 2).place(x)
    elif layout == "beside":
        ti.root.dense(ti.i, N).place(x, x.grad)
    elif layout == "apart":
        ti.root.dense(ti.i, 2).dense(ti.i, 2).place(x)
        ti.root.dense(ti.i, N).place(x.grad)
    elif layout == "list":
        ti.root.dynamic(ti.i, N).place(x)
    else:
        getattr(ti.root, layout)(ti.i, 2).dense(ti.i, 2).place(x, x.grad)

    @ti.kernel
    def fill():
        for i in range(N):
            if ti.static(layout == "list"):
                x.append(0.3 + 0.1 * i)
            else:
                x[i] = 0.3 + 0.1 * i

    fill()
    program = Simple(x)
    check(program.run, [x], program.loss)


def test_members_of_structs() -> None:
    body = ti.types.struct(place=ti.math.vec2, mass=ti.f64)
    f, total, loss = body.field(shape=N, needs_grad=True), scalar(), scalar()
    scatter(f.place)
    scatter(f.mass, seed=3)

    @ti.kernel
    def energy():
        for i in f:
            for j in range(N):
                if i != j:
                    d = f[i].place - f[j].place
                    total[None] += f[i].mass * f[j].mass / (d.dot(d) + 0.3)

    @ti.kernel
    def push():
        for i in f:
            f[i].place -= 0.05 * f.grad[i].place / f[i].mass
            loss[None] += f[i].place.dot(f[i].place)

    def run() -> None:
        f.grad.place.fill(0.0)
        f.grad.mass.fill(0.0)
        total.grad[None] = 1.0
        energy.grad()
        push()

    check(run, [f.place, f.mass], loss)


@pytest.mark.parametrize("what", ["field", "gradient"])
def test_functions_of_tensors(what: str) -> None:
    program, f = Simple(), ti.field(ti.f64, N)
    x = program.x
    a = te.placeholder((N,), ti.f64)
    wave = te.build(te.compute((N,), lambda i: te.sin(a[i]) * a[i]), [a])

    @ti.kernel
    def push():
        for i in x:
            x[i] -= 0.1 * f[i] * x.grad[i]

    def run() -> None:
        for _ in range(2):
            program.clear()
            program.energy.grad()
            wave(x if what == "field" else x.grad, out=f)
            push()
        program.measure()

    check(run, [x], program.loss)


def test_time_in_an_argument() -> None:
    steps = 3
    x, total, loss = variable(steps + 1, N), scalar(), scalar()

    @ti.kernel
    def energy(t: ti.i32):
        for i in range(N):
            total[None] += ti.sin(x[t, i]) * x[t, (i + 1) % N] ** 2

    @ti.kernel
    def push(t: ti.i32):
        for i in range(N):
            x[t + 1, i] = x[t, i] - 0.1 * x.grad[t, i]

    @ti.kernel
    def measure():
        for i in range(N):
            loss[None] += x[steps, i] ** 2

    def run() -> None:
        x.grad.fill(0.0)
        total.grad[None] = 1.0
        for t in range(steps):
            energy.grad(t)
            push(t)
        measure()

    check(run, [x], loss)


# After the tape, and beside it.


def test_seeds_given_again() -> None:
    program = Simple()
    x, seed = program.x, np.arange(1.0, 5.0)
    start = State([x], program.loss)
    with ti.ad.Tape() as tape:
        for _ in range(2):
            program.clear()
            program.energy.grad()
            program.descend()
    left, force = x.to_numpy(), x.grad.to_numpy()
    with pytest.raises(ti.TaichiRuntimeError, match="the seeds of the outputs"):
        tape.grad()
    np.testing.assert_array_equal(x.grad.to_numpy(), force)
    tape.grad({x: seed})
    once = x.grad.to_numpy()
    tape.grad({x: 2 * seed}, clear_gradients=False)
    np.testing.assert_allclose(x.grad.to_numpy(), 3 * once, rtol=1e-13)
    np.testing.assert_array_equal(x.to_numpy(), left)

    def value(change: np.ndarray[Any, Any]) -> float:
        start.restore()
        x.from_numpy(x.to_numpy() + change)
        for _ in range(2):
            program.clear()
            program.energy.grad()
            program.descend()
        found: float = x.to_numpy() @ seed
        return found

    for k, unit in enumerate(np.eye(N)):
        assert slope(lambda h: value(h * unit)) == pytest.approx(once[k], rel=1e-7)  # noqa: B023


def test_tapes_with_and_without_in_turn() -> None:
    x, total, loss = variable(N), scalar(), scalar()
    start = x.to_numpy()

    @ti.kernel
    def energy():
        for i in x:
            total[None] += x[i] ** 3

    @ti.kernel
    def push():
        for i in x:
            x[i] -= 0.1 * x.grad[i]

    @ti.kernel
    def measure():
        for i in x:
            loss[None] += x[i] ** 2

    moved = start - 0.3 * start**2
    for _ in range(2):
        x.from_numpy(start)
        with ti.ad.Tape(loss):
            measure()
        np.testing.assert_allclose(x.grad.to_numpy(), 2 * start)
        with ti.ad.Tape(loss):
            measure()
            x.grad.fill(0.0)
            total.grad[None] = 1.0
            energy.grad()
            push()
            measure()
        expected = 2 * start + 2 * moved * (1 - 0.6 * start)
        np.testing.assert_allclose(x.grad.to_numpy(), expected)
        x.from_numpy(start)
        np.testing.assert_allclose(ti.ad.hvp(energy, total, x, np.ones(N)), 6 * start)
        x.grad.fill(0.0)
        total.grad[None] = 1.0
        energy.grad()
        np.testing.assert_allclose(x.grad.to_numpy(), 3 * start**2)


def test_transforms() -> None:
    program = Simple()
    x, start = program.x, program.x.to_numpy()
    with ti.ad.Tape(program.loss):
        program.run()
    expected = x.grad.to_numpy()
    gradient = ti.ad.grad(program.run, inputs=x, output=program.loss)
    np.testing.assert_allclose(gradient(start), expected)
    np.testing.assert_allclose(gradient(start), expected)


def test_checks() -> None:
    program = Simple()
    with ti.ad.Tape(program.loss, grad_check=[program.x]):
        program.run()
    expected = program.x.grad.to_numpy()
    assert expected.all()
    ti.ad.check(program.loss, program.x, program.run)


@pytest.mark.parametrize("options", [{"validation": True}, {"anomaly": True}, {"rules": "refuse"}])
def test_options_of_a_tape(options: dict[str, Any]) -> None:
    ti.init(default_fp=ti.f64, debug=True)
    program, v = Simple(), variable(N)
    x, loss = program.x, program.loss

    @ti.kernel
    def push():
        for i in v:
            v[i] -= 0.1 * x.grad[i]

    @ti.kernel
    def norm():
        for i in v:
            loss[None] += v[i]

    found = []
    for chosen in ({}, options):
        with ti.ad.Tape(loss, **chosen):
            program.clear()
            for _ in range(2):
                program.energy.grad()
                push()
            norm()
        found.append(x.grad.to_numpy())
    assert found[0].all()
    np.testing.assert_allclose(*found)


def test_threads() -> None:
    found: dict[int, list[Any]] = {}

    def simulation(seed: int) -> Any:
        x, total, loss = variable(N, seed=seed), scalar(), scalar()
        start = x.to_numpy()

        @ti.kernel
        def energy():
            for i in x:
                total[None] += x[i] ** 3

        @ti.kernel
        def push():
            for i in x:
                x[i] -= 0.1 * x.grad[i]
                loss[None] += x[i] ** 2

        def run() -> None:
            for _ in range(4):
                x.from_numpy(start)
                with ti.ad.Tape(loss):
                    x.grad.fill(0.0)
                    total.grad[None] = 1.0
                    energy.grad()
                    push()
                found.setdefault(seed, []).append(x.grad.to_numpy())

        return run, start

    simulations = [simulation(seed) for seed in range(3)]
    threads = [threading.Thread(target=run) for run, _ in simulations]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for seed, (_, start) in enumerate(simulations):
        expected = 2 * (start - 0.3 * start**2) * (1 - 0.6 * start)
        for gradient in found[seed]:
            np.testing.assert_allclose(gradient, expected)
