"""What an `hvp` overwrote is put back when something uses it, and holds NaNs meanwhile: whoever
looks at it finds what was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from deferred_writes import defer_all

import mlirad as ti
from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.host.host_memory import HostArena
from mlirad.runtime.program import program

STEPS, N = 6, 16
FORMER = np.random.default_rng(7).standard_normal((STEPS, N))


@pytest.fixture(autouse=True)
def deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    defer_all(monkeypatch)
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)


class Steps:
    """`loss` is the sum of `u[STEPS - 1] ** 2`, made of `x` by steps that leave the ends of each
    row of `u` as they were."""

    def __init__(self) -> None:
        self.x = ti.field(ti.f64, N, needs_grad=True)
        self.u = ti.field(ti.f64, (STEPS, N), needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        x, u, loss = self.x, self.u, self.loss
        x.from_numpy(np.linspace(-1, 1, N))
        u.from_numpy(FORMER)

        @ti.kernel
        def begin():
            for i in x:
                u[0, i] = x[i]

        @ti.kernel
        def step(t: ti.i32):
            for i in range(1, N - 1):
                u[t, i] = u[t - 1, i] + 0.5 * u[t - 1, i - 1] + 0.25 * u[t - 1, i + 1]

        @ti.kernel
        def add_up():
            for i in range(1, N - 1):
                loss[None] += u[STEPS - 1, i] ** 2

        self.begin, self.step, self.add_up = begin, step, add_up
        self.v = np.random.default_rng(3).standard_normal(N)

    def run(self) -> None:
        self.begin()
        for t in range(1, STEPS):
            self.step(t)
        self.add_up()

    def product(self) -> Any:
        return ti.ad.hvp(self.run, self.loss, self.x, self.v)

    def expected(self) -> Any:
        rows = np.eye(N)
        one = np.eye(N) + 0.5 * np.eye(N, k=-1) + 0.25 * np.eye(N, k=1)
        one[0] = one[-1] = 0  # what was at the ends of the rows does not depend on x
        for _ in range(1, STEPS):
            rows = one @ rows
        return 2 * rows.T @ rows @ self.v


def waits(field: Any) -> bool:
    return bool(field.find_memory().elements.deferred)


@pytest.mark.cpu_code("writes to its memory")
def test_products_one_after_another() -> None:
    program = Steps()
    for _ in range(3):
        np.testing.assert_allclose(program.product(), program.expected(), rtol=1e-12)
        assert waits(program.u) and not waits(program.x)
    assert (program.u.to_numpy() == FORMER).all()
    assert not waits(program.u)


@pytest.mark.cpu_code("writes to its memory")
def test_copies_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    keep = HostArena.keep

    def counted(self: Any, elements: Any, box: Any, name: str) -> Any:
        kept.append(name)
        return keep(self, elements, box, name)

    monkeypatch.setattr(HostArena, "keep", counted)
    program = Steps()
    program.product()
    first = len([name for name in kept if name == f"'{program.u.symbol}'"])
    kept.clear()
    program.product()
    assert first == STEPS and f"'{program.u.symbol}'" not in kept


@pytest.mark.parametrize("is_seen", [False, True])
def test_programs_that_overwrite_other_boxes(is_seen: bool) -> None:
    """One after the other, with copies of the other one that are still to be put back."""
    program = Steps()

    @ti.kernel
    def partly(t: ti.i32):
        for i in range(3, 9):
            program.u[t, i] = program.x[i] ** 3
        for i in range(N):
            program.loss[None] += program.u[t, i] ** 2

    def run() -> None:
        partly(2)
        partly(4)

    x, v = program.x.to_numpy(), program.v
    expected = np.zeros(N)
    expected[3:9] = (60 * x**4 * v)[3:9]
    for _ in range(3):
        np.testing.assert_allclose(program.product(), program.expected(), rtol=1e-12)
        if is_seen:
            assert (program.u.to_numpy() == FORMER).all()
        found = ti.ad.hvp(run, program.loss, program.x, v)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        if is_seen:
            assert (program.u.to_numpy() == FORMER).all()
    assert (program.u.to_numpy() == FORMER).all()


def element(steps: Steps) -> Any:
    return steps.u[3, 4] - FORMER[3, 4]


def read_by_a_kernel(steps: Steps) -> Any:
    @ti.kernel
    def read(t: ti.i32) -> ti.f64:
        found = 0.0
        for i in range(N):
            found += steps.u[t, i]
        return found

    return read(2) - FORMER[2].sum()


def copied(steps: Steps) -> Any:
    other = ti.field(ti.f64, (STEPS, N))
    other.copy_from(steps.u)
    return other.to_numpy() - FORMER


def written_beside(steps: Steps) -> Any:
    steps.u[1, 1] = 5.0
    return np.array([steps.u[1, 1] - 5.0, steps.u[1, 2] - FORMER[1, 2]])


def added_to(steps: Steps) -> Any:
    @ti.kernel
    def add(t: ti.i32):
        for i in range(N):
            steps.u[t, i] += 1.0

    add(3)
    return steps.u.to_numpy()[3] - 1.0 - FORMER[3]


def set_under_a_condition(steps: Steps) -> Any:
    @ti.kernel
    def some(t: ti.i32):
        for i in range(N):
            if i % 2 == 0:
                steps.u[t, i] = 1.0

    some(4)
    return steps.u.to_numpy()[4, 1::2] - FORMER[4, 1::2]


def set_in_part(steps: Steps) -> Any:
    @ti.kernel
    def some(t: ti.i32):
        for i in range(3, 9):
            steps.u[t, i] = 1.0

    some(4)
    found, expected = steps.u.to_numpy(), FORMER.copy()
    expected[4, 3:9] = 1.0
    return found - expected


def set_and_read(steps: Steps) -> Any:
    """What a row is set to is made of what it was."""

    @ti.kernel
    def turn(t: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(N):
            steps.u[t, i] = steps.u[t, N - 1 - i] if i < N - 1 - i else 0.0

    turn(2)
    return steps.u.to_numpy()[2, : N // 2] - FORMER[2, : N // 2 - 1 : -1]


def set_behind(steps: Steps) -> Any:
    """What is set is read in a loop in front."""

    @ti.kernel
    def sum_and_set(t: ti.i32) -> ti.f64:
        found = 0.0
        for i in range(N):
            found += steps.u[t, i]
        for i in range(N):
            steps.u[t, i] = 0.0
        return found

    return sum_and_set(3) - FORMER[3].sum()


def run_again(steps: Steps) -> Any:
    steps.loss[None] = 0.0
    steps.run()
    assert not np.isnan(steps.loss[None])
    return steps.u.to_numpy()[1:, 0] - FORMER[1:, 0]


def run_in_a_tape(steps: Steps) -> Any:
    with ti.ad.Tape(steps.loss):
        steps.run()
    return steps.u.to_numpy()[1:, -1] - FORMER[1:, -1]


READERS: list[Callable[[Steps], Any]] = [
    element,
    read_by_a_kernel,
    copied,
    written_beside,
    added_to,
    set_under_a_condition,
    set_in_part,
    set_and_read,
    set_behind,
    run_again,
    run_in_a_tape,
]


@pytest.mark.parametrize("reader", READERS)
def test_readers(reader: Callable[[Steps], Any]) -> None:
    steps = Steps()
    for _ in range(2):
        steps.product()
    np.testing.assert_allclose(reader(steps), 0.0, atol=1e-12)
    steps.u.from_numpy(FORMER)
    np.testing.assert_allclose(steps.product(), steps.expected(), rtol=1e-12)
    assert (steps.u.to_numpy() == FORMER).all()


def test_programs_that_overwrite_other_parts() -> None:
    """Of what is to be put back, one program overwrites a part, or adds to it."""
    steps = Steps()
    u, loss, x = steps.u, steps.loss, steps.x

    @ti.kernel
    def in_place(t: ti.i32, end: ti.i32):
        for i in range(end):
            u[t, i] += x[i] * x[i]

    @ti.kernel
    def add_up(t: ti.i32):
        for i in range(N):
            loss[None] += u[t, i] ** 2

    def others(end: int) -> Callable[[], None]:
        def run() -> None:
            in_place(2, end)
            in_place(3, N)
            add_up(2)
            add_up(3)

        return run

    values = x.to_numpy()
    for end in (5, N, 3):
        steps.product()
        found = ti.ad.hvp(others(end), loss, x, steps.v)
        expected = np.zeros(N)
        for t, last in ((2, end), (3, N)):
            inside = np.arange(N) < last
            total = FORMER[t] + values**2
            expected += inside * (8 * values**2 + 4 * total) * steps.v
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (u.to_numpy() == FORMER).all()


def test_an_error_puts_everything_back() -> None:
    steps = Steps()
    steps.product()

    def fails() -> None:
        steps.run()
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            ti.ad.hvp(fails, steps.loss, steps.x, steps.v)
    assert (steps.u.to_numpy() == FORMER).all()


@pytest.mark.cpu_code("writes to its memory")
def test_copies_are_given_back_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, capacity = Steps(), program().capacity
    steps.product()
    assert waits(steps.u)
    taken = capacity._total
    monkeypatch.setattr(capacity, "_ask", lambda: taken + 64)
    ti.field(ti.f64, 16).fill(1.0)
    assert not waits(steps.u) and (steps.u.to_numpy() == FORMER).all()
    with pytest.raises(TaichiMemoryError):
        ti.field(ti.f64, 1 << 20).fill(1.0)


@pytest.mark.parametrize("directions", [1, 3])
def test_tangents_of_what_is_set_in_part(directions: int) -> None:
    """Forward mode sets the tangents of the middle of a row: those of its ends are 0."""
    steps = Steps()
    v = np.random.default_rng(5).standard_normal((directions, N))
    for _ in range(2):
        with ti.ad.FwdMode(steps.u, steps.x, v if directions > 1 else v[0]) as mode:
            steps.run()
        found = mode.tangents(steps.u).reshape(directions, STEPS, N)
        for number in range(directions):
            rows = [v[number]]
            for _ in range(1, STEPS):
                last = rows[-1]
                rows.append(np.zeros(N))
                rows[-1][1:-1] = last[1:-1] + 0.5 * last[:-2] + 0.25 * last[2:]
            np.testing.assert_allclose(found[number], rows, atol=1e-12)


def test_more_boxes_than_are_remembered() -> None:
    """Of a box that is kept twice, what was there first is put back."""
    u, x = ti.field(ti.f64, (200, 4), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(4):
            u[t, i] = x[None] ** 2

    @ti.kernel
    def add_up():
        for i in range(4):
            loss[None] += u[0, i] ** 2

    def run() -> None:
        for t in range(400):
            step(2 * t % 200)
        add_up()

    u.fill(7.0)
    x[None] = 2.0
    for _ in range(2):
        assert ti.ad.hvp(run, loss, x, 1.0) == pytest.approx(4 * 48.0)
        assert (u.to_numpy() == 7.0).all()


def test_nested_blocks() -> None:
    """A copy is of all their elements, whatever box it was made for."""
    u, x = ti.field(ti.f64), ti.field(ti.f64, (), needs_grad=True)
    ti.root.dense(ti.i, 2).dense(ti.ij, (2, N)).place(u)
    ti.root.lazy_grad()
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(N):
            u[t, i] = x[None] * u[t - 1, i]

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += u[3, i]

    def run() -> None:
        step(2)
        step(3)
        add_up()

    former = np.random.default_rng(1).standard_normal((4, N))
    u.from_numpy(former)
    x[None] = 3.0
    for _ in range(2):
        assert ti.ad.hvp(run, loss, x, 1.0) == pytest.approx(2 * former[1].sum())
        np.testing.assert_array_equal(u.to_numpy(), former)


def test_a_launch_that_writes_nothing() -> None:
    """It begins at a row, and ends before it: what the next writes there is put back."""
    u, x = ti.field(ti.f64, (STEPS, N), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def rows(first: ti.i32, behind: ti.i32):
        for t, i in ti.ndrange((first, behind), N):
            u[t, i] = x[None] ** 2

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += u[3, i]

    def run() -> None:
        rows(2, 2)
        rows(2, 5)
        add_up()

    u.from_numpy(FORMER)
    for _ in range(2):
        assert ti.ad.hvp(run, loss, x, 1.0) == pytest.approx(2.0 * N)
        np.testing.assert_array_equal(u.to_numpy(), FORMER)


def test_a_copy_of_a_whole_array() -> None:
    """What is to be put back is no zeros, though all of it waits, and it is used row by row."""
    x, u = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, N, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            u[i] = x[i] ** 2

    @ti.kernel
    def add_up():
        for i in u:
            loss[None] += u[i] ** 2

    def run() -> None:
        square()
        add_up()

    x.fill(3.0)
    u.from_numpy(FORMER[0])
    for _ in range(3):
        np.testing.assert_allclose(ti.ad.hvp(run, loss, x, np.ones(N)), 12 * 9.0)
    loss[None] = 0.0
    add_up()
    assert loss[None] == pytest.approx((FORMER[0] ** 2).sum())
