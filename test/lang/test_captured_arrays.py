"""Ndarrays that kernels use without having them as arguments: each launch finds them anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad as ti

weights: Any = None


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init()


@ti.kernel
def add_weights(y: ti.types.ndarray()):  # type: ignore[valid-type]
    for i in weights:
        weights[i] += y[i] + 1


def filled(value: float, size: int = 4, dtype: Any = ti.f32, **options: Any) -> Any:
    """Return an ndarray of one number."""
    array = ti.ndarray(dtype, size, **options)
    array.fill(value)
    return array


def test_a_global_stands_for_what_it_is_at_the_launch() -> None:
    global weights
    weights = filled(0)
    add_weights(filled(2))
    assert weights.to_numpy().tolist() == [3] * 4
    weights = filled(1, 6)
    add_weights(filled(1, 6))
    assert weights.to_numpy().tolist() == [3] * 6
    weights = filled(1, 3, ti.f64)
    add_weights(filled(1, 3))
    assert weights.to_numpy().tolist() == [3] * 3


def test_an_argument_may_be_the_captured_array() -> None:
    global weights
    weights = filled(1)
    add_weights(filled(1))
    assert weights.to_numpy().tolist() == [3] * 4
    add_weights(weights)
    assert weights.to_numpy().tolist() == [7] * 4


class Inner:
    def __init__(self, size: int) -> None:
        self.values, self.size = filled(0, size), size


@ti.data_oriented
class Solver:
    def __init__(self, size: int) -> None:
        self.x, self.inner = filled(0, size), Inner(size)

    @ti.kernel
    def run(self, rate: ti.f32) -> ti.i32:  # type: ignore[valid-type]
        for i in self.x:
            self.x[i] += rate * ti.random() + rate
            self.inner.values[i] += self.inner.size
        return self.x.shape[0]


@pytest.mark.filterwarnings("error")
def test_members_of_objects_may_be_assigned_anew() -> None:
    solver = Solver(4)
    for size in 4, 7:
        assert solver.run(0.0) == size
        assert solver.inner.values.to_numpy().tolist() == [size] * size
        solver.x, solver.inner = filled(0, 7), Inner(7)
    solver.x = filled(0, 3, ti.f64)
    assert solver.run(0.0) == 3
    assert solver.inner.values.to_numpy().tolist() == [7, 7, 7, 0, 0, 0, 0]


@dataclass(frozen=True)
class State:
    x: Any
    loss: Any


@ti.kernel
def square(state: ti.template()):  # type: ignore[valid-type]
    for i in state.x:
        state.loss[0] += state.x[i] ** 3


def test_gradients_pass_through_members() -> None:
    states = [State(filled(k, needs_grad=True), filled(0, 1, needs_grad=True)) for k in (2.0, 3.0)]
    for state, gradient in zip(states, (12, 27), strict=True):
        with ti.ad.Tape(state.loss):
            square(state)
        assert state.x.grad.to_numpy().tolist() == [gradient] * 4


def test_a_member_may_be_changed_between_launches_of_a_tape() -> None:
    solver = Solver(2)
    first, second = filled(2, 2, needs_grad=True), filled(5, 2, needs_grad=True)
    loss = filled(0, 1, needs_grad=True)

    @ti.kernel
    def add(scale: ti.f32):  # type: ignore[valid-type]
        for i in solver.x:
            loss[0] += scale * solver.x[i] ** 2

    with ti.ad.Tape(loss):
        solver.x = first
        add(1.0)
        solver.x = second
        add(2.0)
    assert loss[0] == 108
    assert first.grad.to_numpy().tolist() == [4, 4]
    assert second.grad.to_numpy().tolist() == [20, 20]


def test_forward_mode_follows_captured_arrays() -> None:
    x, y = filled(3, needs_grad=True), filled(0, needs_grad=True)

    @ti.kernel
    def cube():
        for i in x:
            y[i] = x[i] ** 3

    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 0.0, 2.0]):
        cube()
    assert y.dual.to_numpy().tolist() == [27, 0, 0, 54]


def test_a_member_that_is_no_array_any_more_is_refused() -> None:
    solver = Solver(2)
    solver.run(0.0)
    solver.x = np.zeros(2, np.float32)
    with pytest.raises(ti.TaichiCompilationError, match=r"test_captured_arrays.py"):
        solver.run(0.0)


def test_a_gradient_in_a_kernel_is_the_arrays_own() -> None:
    x = filled(3, needs_grad=True)
    x.grad.fill(5)

    @ti.kernel
    def step():
        for i in x:
            x[i] -= x.grad[i]

    step()
    assert x.to_numpy().tolist() == [-2] * 4


def test_extents_that_python_reads_are_refused() -> None:
    x = filled(0)

    @ti.kernel
    def by_length():
        for i in range(len(x)):
            x[i] += 1

    def size() -> Any:
        return x.shape[0]

    @ti.kernel
    def by_function():
        for i in range(size()):
            x[i] += 1

    @ti.kernel
    def by_static():
        for i in range(ti.static(x.shape[0])):
            x[i] += 1

    for kernel, reason in ((by_length, r"x.shape\[0\]"), (by_function, "an ndarray is read")):
        with pytest.raises(ti.TaichiTypeError, match=rf"captured_arrays.py:.*(\n.*)*{reason}"):
            kernel()
    by_static()
    assert x.to_numpy().tolist() == [1] * 4


@ti.data_oriented
class Counter:
    """An object with an array of its own."""

    def __init__(self) -> None:
        self.x = ti.ndarray(ti.f64, 2)

    @ti.kernel
    def add(self, number: ti.f64):
        for i in range(2):
            self.x[i] += number


def test_each_of_many_launches_finds_the_present_array() -> None:
    counters = [Counter(), Counter()]
    arrays = [[counter.x] for counter in counters]
    expected: list[list[float]] = [[0.0], [0.0]]
    for step in range(40):
        for counter, held, totals in zip(counters, arrays, expected):
            if step % 7 == 6:
                counter.x = ti.ndarray(ti.f64, 2)
                held.append(counter.x)
                totals.append(0.0)
            counter.add(float(step))
            totals[-1] += step
    sums = [[array.to_numpy()[1] for array in held] for held in arrays]
    assert sums == expected


def test_a_tape_sees_launches_that_were_repeated_before() -> None:
    counter = Counter()
    counter.x = ti.ndarray(ti.f64, 2, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in range(2):
            loss[None] += counter.x[i] ** 2

    for _ in range(4):
        counter.add(1.0)
        total()
    loss[None] = 0.0
    with ti.ad.Tape(loss):
        counter.add(1.0)
        total()
    assert counter.x.grad.to_numpy().tolist() == [10.0, 10.0]


def test_a_global_array_is_passed_at_first() -> None:
    ti.init(default_fp=ti.f64)
    g, h = ti.ndarray(ti.f64, 2, needs_grad=True), ti.ndarray(ti.f64, 2, needs_grad=True)
    g.fill(1.0)
    h.fill(2.0)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total(x: ti.types.ndarray()):
        loss[None] += g[1] * 10.0 * x[1]

    for x, value, of_g, of_x in ((g, 10.0, 20.0, 20.0), (h, 20.0, 20.0, 10.0)) * 3:
        loss[None] = 0.0
        with ti.ad.Tape(loss):
            total(x)
        assert loss[None] == value
        assert (g.grad[1], x.grad[1]) == (of_g, of_x)
        loss[None] = 0.0
        total(x)
        assert loss[None] == value
