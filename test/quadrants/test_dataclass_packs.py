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
    qd.init()
    state = state_of(np.arange(3.0))
    for factor in (2.0, 3.0):
        run(state, factor)
        np.testing.assert_array_equal(state.inner.y.to_numpy(), np.arange(3.0) * factor + 3)
    other = state_of(np.arange(5.0), flag=False)
    run(other, 2.0)
    np.testing.assert_array_equal(other.inner.y.to_numpy(), np.arange(5.0) * 2)


def test_arrays_of_numpy_are_members_too() -> None:
    qd.init()
    y = np.zeros(3)
    run(State(np.arange(3.0), Inner(y, 1), True), 2.0)
    np.testing.assert_array_equal(y, [1.0, 3.0, 5.0])


def test_a_tape_sees_members() -> None:
    qd.init()
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
    qd.init()

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
    qd.init()
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="expected State, got Inner"):
        run(Inner(np.zeros(3), 1), 2.0)


def test_a_member_of_another_type_is_refused() -> None:
    qd.init()
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r"state\.x"):
        run(State(3.0, Inner(np.zeros(3), 1), True), 2.0)


def test_launches_are_repeated_by_their_words_too() -> None:
    qd.init()
    state, other = state_of(np.arange(3.0)), state_of(np.arange(4.0))
    for factor in (2.0, 3.0, 4.0):
        for pack in (state, other):
            run(factor=factor, state=pack)
            size = pack.x.shape[0]
            np.testing.assert_array_equal(pack.inner.y.to_numpy(), np.arange(size) * factor + 3)
    with pytest.raises(qd.QuadrantsSyntaxError, match="Unexpected argument 'faktor'"):
        run(faktor=2.0, state=state)


def test_a_tape_sees_launches_that_were_repeated_before() -> None:
    qd.init()
    state = state_of(np.arange(3.0), needs_grad=True)
    for _ in range(3):
        run(state, 2.0)
    loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def total(state: State):
        for i in range(state.inner.y.shape[0]):
            loss[None] += state.inner.y[i]

    total(state)
    total(state)
    with ti.ad.Tape(loss):
        run(state, 3.0)
        total(state)
    np.testing.assert_allclose(state.x.grad.to_numpy(), 3.0)


def test_what_a_frozen_dataclass_holds_is_looked_at() -> None:
    qd.init()
    state, y = state_of(np.arange(3.0)), qd.ndarray(qd.f64, 3)
    for _ in range(3):
        run(state, 2.0)
    object.__setattr__(state.inner, "y", y)
    run(state, 4.0)
    np.testing.assert_array_equal(y.to_numpy(), np.arange(3.0) * 4 + 3)
    object.__setattr__(state, "flag", False)
    run(state, 4.0)
    np.testing.assert_array_equal(y.to_numpy(), np.arange(3.0) * 4)


def test_unused_members_are_not_passed() -> None:
    qd.init()

    @qd.kernel
    def fill(state: State):
        for i in range(state.x.shape[0]):
            state.x[i] = 1.0

    state = state_of(np.zeros(3), needs_grad=True)
    assert fill.ir(state).count("!field.array") == 1
    fill(state)
    fill(state)
    np.testing.assert_array_equal(state.x.to_numpy(), 1.0)


def test_one_array_that_is_two_members() -> None:
    qd.init()
    x = qd.ndarray(qd.f64, 3)
    x.fill(1.0)
    for _ in range(3):
        run(State(x, Inner(x, 0), True), 2.0)
    np.testing.assert_array_equal(x.to_numpy(), 8.0)
    state = State(x, Inner(x, 0), True)
    for _ in range(3):
        run(state, 2.0)
    np.testing.assert_array_equal(x.to_numpy(), 64.0)


def test_members_carry_tangents() -> None:
    qd.init()
    state = state_of(np.arange(3.0), needs_grad=True)
    factor, loss = (qd.field(qd.f64, (), needs_dual=True) for _ in range(2))

    @qd.kernel
    def fill(state: State):
        for i in range(state.x.shape[0]):
            state.x[i] = factor[None] * i

    @qd.kernel
    def total(state: State):
        for i in range(state.inner.y.shape[0]):
            loss[None] += state.inner.y[i] ** 2

    factor[None] = 2.0
    for _ in range(2):  # so that launches are repeated
        fill(state)
        run(state, 3.0)
    with ti.ad.FwdMode(loss=loss, param=factor):
        fill(state)
        run(state, 3.0)
        total(state)
    i = np.arange(3.0)
    assert loss.dual[None] == pytest.approx(np.sum(2 * (6 * i + 3) * 3 * i))


@dataclasses.dataclass
class Pair:
    x: qd.types.ndarray()
    factor: qd.template


@dataclasses.dataclass(frozen=True)
class FrozenPair:
    x: qd.types.ndarray()
    factor: qd.template


@qd.kernel
def add_to(pair: Pair, number: qd.f64):
    for i in range(pair.x.shape[0]):
        pair.x[i] += qd.static(pair.factor) * number


@qd.kernel
def add_to_frozen(pair: FrozenPair, number: qd.f64):
    for i in range(pair.x.shape[0]):
        pair.x[i] += qd.static(pair.factor) * number


def _zeros() -> Any:
    array = qd.ndarray(qd.f64, 1)
    array.fill(0.0)
    return array


@pytest.mark.parametrize(
    ("kernel", "kind"), [(add_to, Pair), (add_to_frozen, FrozenPair)], ids=["open", "frozen"]
)
def test_launches_with_several_objects_in_turn(kernel: Any, kind: Any) -> None:
    """Machine code keeps the addresses of its last launch; another launch brings its own."""
    pairs = [kind(_zeros(), factor) for factor in (1, 1, 3)]
    for number in range(12):
        for pair in pairs[: 1 + number % 3]:
            kernel(pair, float(number))
    totals = [sum(n for n in range(12) if n % 3 >= k) for k in range(3)]
    assert [pair.x.to_numpy()[0] for pair in pairs] == [totals[0], totals[1], 3 * totals[2]]


def test_a_member_may_become_an_equal_number_of_another_type() -> None:
    pair = Pair(_zeros(), 1)
    for _ in range(4):
        add_to(pair, 0.5)
    pair.factor = True  # 1 == True
    add_to(pair, 0.5)
    pair.factor = 1.0
    add_to(pair, 0.5)
    assert pair.x.to_numpy()[0] == 3.0


def test_a_member_is_taken_away() -> None:
    pair = Pair(_zeros(), 1)
    for _ in range(4):
        add_to(pair, 0.5)
    before = pair.x
    del pair.x
    with pytest.raises((qd.QuadrantsTypeError, AttributeError)):
        add_to(pair, 0.5)
    assert before.to_numpy()[0] == 2.0
