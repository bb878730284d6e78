"""Dataclasses of Python's as arguments: their members are arguments."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd


@dataclasses.dataclass(frozen=True)
class Inner:
    y: qd.types.ndarray()
    count: qd.i32


@dataclasses.dataclass(frozen=True)
class State:
    x: qd.types.ndarray()
    inner: Inner
    flag: qd.template


@qd.func
def scaled(state: State, i, factor):
    result = state.x[i] * factor
    if qd.static(state.flag):
        result += state.inner.count
    return result


@qd.kernel
def run(state: State, factor: qd.f64):
    for i in range(state.x.shape[0]):
        state.inner.y[i] = scaled(state, i, factor)


def state_of(values: np.ndarray, *, flag: bool = True, needs_grad: bool = False) -> State:
    x = qd.ndarray(qd.f64, len(values), needs_grad=needs_grad)
    y = qd.ndarray(qd.f64, len(values), needs_grad=needs_grad)
    x.from_numpy(values)
    return State(x, Inner(y, 3), flag)


def test_members_are_read_and_written() -> None:
    qd.init(arch=qd.cpu)
    state = state_of(np.arange(3.0))
    for factor in (2.0, 3.0):
        run(state, factor)
        np.testing.assert_array_equal(state.inner.y.to_numpy(), np.arange(3.0) * factor + 3)
    other = state_of(np.arange(5.0), flag=False)
    run(other, 2.0)
    np.testing.assert_array_equal(other.inner.y.to_numpy(), np.arange(5.0) * 2)


def test_arrays_of_numpy_are_members_too() -> None:
    qd.init(arch=qd.cpu)
    y = np.zeros(3)
    run(State(np.arange(3.0), Inner(y, 1), True), 2.0)
    np.testing.assert_array_equal(y, [1.0, 3.0, 5.0])


def test_a_tape_sees_members() -> None:
    qd.init(arch=qd.cpu)
    state = state_of(np.arange(3.0), needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def total(state: State):
        for i in range(state.inner.y.shape[0]):
            loss[None] += state.inner.y[i] ** 2

    with ti.ad.Tape(loss):
        run(state, 2.0)
        total(state)
    expected = 2 * (np.arange(3.0) * 2 + 3) * 2
    np.testing.assert_allclose(state.x.grad.to_numpy(), expected)


def test_members_may_change_between_launches() -> None:
    qd.init(arch=qd.cpu)

    @dataclasses.dataclass
    class Loose:
        x: qd.types.ndarray()

    @qd.kernel
    def fill(loose: Loose, value: qd.i32):
        for i in range(loose.x.shape[0]):
            loose.x[i] = value

    loose = Loose(np.zeros(3))
    arrays: list[Any] = [loose.x, np.zeros(3, np.int32), qd.ndarray(qd.f32, 2)]
    for value, array in enumerate(arrays, start=1):
        loose.x = array
        fill(loose, value)
        fill(loose, value)
    for value, array in enumerate(arrays, start=1):
        np.testing.assert_array_equal(np.asarray(array), value)


def test_an_object_of_another_class_is_refused() -> None:
    qd.init(arch=qd.cpu)
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="State is needed, not a Inner"):
        run(Inner(np.zeros(3), 1), 2.0)


def test_a_member_of_another_type_is_refused() -> None:
    qd.init(arch=qd.cpu)
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r"state\.x"):
        run(State(3.0, Inner(np.zeros(3), 1), True), 2.0)
