"""`ti.atomic_exchange`: an element's value for another; against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 6


def test_own_elements_in_parallel() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in x:
            old = ti.atomic_exchange(x[i], x[i] * y[i])
            older = ti.atomic_exchange(y[i], old * old)
            loss[None] += older * x[i] + y[i] ** 2

    check(lambda: (step(), step()), [x, y], loss)


def test_a_delay_line() -> None:
    signal, line, loss = variable(9), variable(3, seed=1), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for t in range(9):
            carried = signal[t] * signal[t]
            for k in range(3):
                carried = ti.atomic_exchange(line[k], carried)
            loss[None] += carried * signal[t]

    check(lambda: (run(), total(line, loss)), [signal, line], loss)


def test_an_exchange_whose_result_is_not_used() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_exchange(y[i], ti.sin(x[i]))
            ti.atomic_exchange(x[i], 2.0)

    check(lambda: (run(), total(y, loss), total(x, loss)), [x, y], loss)


def test_components_of_vectors_and_locals() -> None:
    x, loss = ti.Vector.field(2, ti.f64, N, needs_grad=True), scalar()
    x.from_numpy(np.random.default_rng(0).uniform(0.5, 1.5, (N, 2)))

    @ti.kernel
    def run():
        for i in x:
            old = ti.atomic_exchange(x[i], ti.Vector([x[i].y, 3.0]) * x[i].x)
            local = old.x
            before = ti.atomic_exchange(local, old.y * old.y)
            loss[None] += before * local + x[i].x * x[i].y

    check(run, [x], loss)


def test_forward_mode_gives_the_same() -> None:
    x, y = ti.field(ti.f64, N, needs_dual=True), ti.field(ti.f64, N, needs_dual=True)
    start = np.linspace(0.5, 1.5, N)
    x.from_numpy(start)

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.atomic_exchange(x[i], ti.exp(x[i])) ** 2 + 3.0 * x[i]

    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * N):
        run()
    np.testing.assert_allclose(y.dual.to_numpy(), 2 * start + 3 * np.exp(start), rtol=1e-14)


def test_second_order() -> None:
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    at = np.array([0.3, 0.7, 1.1])
    x.from_numpy(at)

    @ti.kernel
    def energy():
        for i in x:
            old = ti.atomic_exchange(x[i], 1.0)
            loss[None] += old**3 * x[i]

    found = ti.ad.hessian(energy, loss=loss, wrt=x)
    np.testing.assert_allclose(found, np.diag(6 * at), rtol=1e-12)


def test_lists_of_particles_in_cells() -> None:
    """The heads of linked lists are exchanged in parallel; derivatives pass over the neighbours
    that they give."""
    n, cells = 40, 8
    x, loss = ti.field(ti.f64, n, needs_grad=True), scalar()
    head, following = ti.field(ti.i32, cells), ti.field(ti.i32, n)
    at = np.random.default_rng(2).uniform(0.0, cells, n)
    x.from_numpy(at)

    @ti.kernel
    def sort():
        for c in head:
            head[c] = -1
        for i in x:
            following[i] = ti.atomic_exchange(head[int(x[i])], i)

    @ti.kernel
    def interact():
        for i in x:
            total = 0.0
            k = head[int(x[i])]
            while k >= 0:
                total += (x[k] - x[i]) ** 2
                k = following[k]
            loss[None] += total

    with ti.ad.Tape(loss):
        sort()
        interact()
    same = at.astype(int)[:, None] == at.astype(int)[None, :]
    apart = np.where(same, at[:, None] - at[None, :], 0.0)
    assert loss[None] == pytest.approx((apart**2).sum(), rel=1e-12)
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * apart.sum(axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_used", [False, True])
def test_one_element_of_two_iterations_is_refused(is_used: bool) -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def run():
        for i in x:
            old = ti.atomic_exchange(y[0], x[i])
            if ti.static(is_used):
                loss[None] += old

    run()
    with pytest.raises(ti.TaichiCompilationError, match=r"y.* another iteration"):
        run.grad()


def test_elements_that_meet_at_run_time_are_refused() -> None:
    x, y, loss, where = variable(N), variable(N, seed=1), scalar(), ti.field(ti.i32, N)
    where.from_numpy(np.arange(N))

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_exchange(y[where[i]], x[i] * x[i])

    check(lambda: (run(), total(y, loss)), [x, y], loss)
    where[3] = 1
    with pytest.raises(ti.TaichiRuntimeError, match=r"\[1\] is updated here in iteration"):
        taped(run, y, loss)


def taped(run: Any, y: Any, loss: Any) -> None:
    with ti.ad.Tape(loss):
        run()
        total(y, loss)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_one_of_several_iterations_finds_what_was_there(lanes: int, dtype: Any) -> None:
    """A flag that is taken, and the adjoint of a maximum that several iterations supply."""
    ti.init(default_fp=dtype, lanes=lanes)
    flag, taken = ti.field(ti.i32, 3), ti.field(ti.i32, 3 * N)
    x, most = (ti.field(dtype, shape, needs_grad=True) for shape in (3 * N, 3))

    @ti.kernel
    def take():
        for i in taken:
            taken[i] = ti.atomic_exchange(flag[i % 3], 0)

    @ti.kernel
    def largest():
        for i in x:
            ti.atomic_max(most[i % 3], x[i])

    flag.fill(1)
    take()
    assert taken.to_numpy().reshape(N, 3).sum(0).tolist() == [1, 1, 1]
    x.from_numpy(np.repeat([1.0, 5.0, 5.0, 2.0, 5.0, 3.0], 3).astype(x.to_numpy().dtype))
    largest()
    most.grad.from_numpy(np.array([1.0, 2.0, 4.0], most.grad.to_numpy().dtype))
    largest.grad()
    by_cell = x.grad.to_numpy().reshape(N, 3)
    assert by_cell.sum(0).tolist() == [1.0, 2.0, 4.0]
    assert np.count_nonzero(by_cell, 0).tolist() == [1, 1, 1]
    assert not by_cell[[0, 3, 5]].any()
