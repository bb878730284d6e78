"""Derivatives to which zeros are written later, and which hold NaNs meanwhile: whoever looks at one
finds 0, or what was added to 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from deferred_writes import defer_all

import mlirad as ti

N = 64


@pytest.fixture(autouse=True)
def deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    defer_all(monkeypatch)
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)


class Program:
    """`loss` is the sum of `y * y`, `y = x * x`; nothing is done with `idle`."""

    def __init__(self) -> None:
        self.x, self.y, self.idle = (ti.field(ti.f64, N, needs_grad=True) for _ in range(3))
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.values = np.linspace(-1, 2, N)
        self.x.from_numpy(self.values)
        x, y, loss = self.x, self.y, self.loss

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] * x[i]

        @ti.kernel
        def add_up():
            for i in y:
                loss[None] += y[i] * y[i]

        self.square, self.add_up = square, add_up

    def run(self) -> None:
        self.square()
        self.add_up()

    def check(self, times: float = 1.0) -> None:
        expected = times * 4 * self.values**3
        np.testing.assert_allclose(self.x.grad.to_numpy(), expected, rtol=1e-12)


def waits(field: Any) -> bool:
    return bool(field.find_memory().elements.deferred)


def test_tapes_one_after_the_other() -> None:
    program = Program()
    for _ in range(3):
        with ti.ad.Tape(program.loss):
            program.run()
        program.check()
        assert (program.y.grad.to_numpy() == 0).all()


@pytest.mark.cpu_code("writes to its memory")
def test_what_nobody_touches_is_not_written() -> None:
    program = Program()
    program.idle.grad.fill(3.0)
    with ti.ad.Tape(program.loss):
        program.run()
    assert waits(program.idle.grad) and not waits(program.x.grad)
    assert program.idle.grad[5] == 0 and not waits(program.idle.grad)


@pytest.mark.cpu_code("writes to its memory")
def test_derivatives_that_python_fills_with_zeros() -> None:
    """They wait, those of a direction at the end of `FwdMode` too; other numbers, and fields that
    are no derivatives, are filled at once."""
    program = Program()
    program.x.grad.fill(0)
    assert waits(program.x.grad)
    program.x.grad.fill(2.0)
    assert not waits(program.x.grad) and (program.x.grad.to_numpy() == 2).all()
    program.x.grad.fill(0)
    program.loss.grad[None] = 1.0
    program.run()
    program.add_up.grad()
    program.square.grad()
    program.check()
    program.idle.fill(0)
    assert not waits(program.idle)
    with ti.ad.FwdMode(program.loss, program.x, np.ones(N)):
        program.run()
    assert program.loss.dual[None] == pytest.approx((4 * program.values**3).sum())
    assert waits(program.x.dual) and not program.x.dual.to_numpy().any()


@pytest.mark.cpu_code("writes to its memory")
def test_a_reverse_clears_what_python_wrote_over_when_it_is_used() -> None:
    """Of what Python wrote as a whole; a part of it is cleared at once."""
    program = Program()

    def run() -> None:
        program.y.fill(2.0)
        program.idle[3] = 1.0
        program.run()

    v = np.linspace(1, 2, N)
    ti.ad.hvp(run, program.loss, program.x, v)  # which gives `y` its tangents
    product = ti.ad.hvp(run, program.loss, program.x, v)
    assert all(map(waits, (program.y.grad, program.y.grad.dual)))
    assert not program.y.grad.to_numpy().any() and not program.y.grad.dual.to_numpy().any()
    assert not program.idle.grad.to_numpy().any()
    np.testing.assert_allclose(product, 12 * program.values**2 * v, rtol=1e-12)
    with ti.ad.Tape(program.loss):
        run()
    program.check()
    assert waits(program.y.grad) and not program.y.grad.to_numpy().any()


def read_by_a_kernel(idle: Any) -> float:
    @ti.kernel
    def read() -> ti.f64:
        return idle.grad[7]

    return read()


def copied(idle: Any) -> float:
    other = ti.field(ti.f64, N)
    other.copy_from(idle.grad)
    return other[7]


def written_beside(idle: Any) -> float:
    idle.grad[8] = 2.0
    return idle.grad[7] + idle.grad[8] - 2.0


def added_to(idle: Any) -> float:
    @ti.kernel
    def add():
        for i in idle:
            idle.grad[i] += 1.0

    add()
    return idle.grad[7] - 1.0


READERS: dict[str, Callable[[Any], float]] = {
    "to_numpy": lambda idle: idle.grad.to_numpy().sum(),
    "element": lambda idle: idle.grad[7],
    "kernel": read_by_a_kernel,
    "copy": copied,
    "beside": written_beside,
    "update": added_to,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("is_inside", [False, True])
def test_all_ways_to_look_at_one(reader: str, is_inside: bool) -> None:
    """Outside a tape, and in the middle of one."""
    program = Program()
    program.idle.grad.fill(3.0)
    with ti.ad.Tape(program.loss):
        program.run()
        if is_inside and reader == "kernel":
            with pytest.raises(ti.TaichiRuntimeError, match="in a tape, which set it to 0"):
                read_by_a_kernel(program.idle)
        elif is_inside and reader in ("to_numpy", "element"):
            with pytest.warns(UserWarning, match="read it after the block"):
                assert READERS[reader](program.idle) == 0
        elif is_inside:
            assert READERS[reader](program.idle) == 0
    if not is_inside:
        assert READERS[reader](program.idle) == 0
    program.check()


def test_reverses_by_hand_add_up() -> None:
    program = Program()
    with ti.ad.Tape(program.loss):
        program.run()
    ti.ad.clear_all_gradients()
    program.loss.grad[None] = 1.0
    program.add_up.grad()
    program.square.grad()
    program.check()
    program.add_up.grad()
    program.square.grad()
    program.check(2)


def test_seeds_that_are_added() -> None:
    """What was there is kept while all is cleared, and added afterwards."""
    program = Program()
    with ti.ad.Tape(program.loss) as tape:
        program.run()
    tape.grad({program.loss: 2.0})
    program.check(2)
    tape.grad({program.loss: 3.0}, clear_gradients=False)
    program.check(5)


def test_directions() -> None:
    program = Program()
    v = np.random.default_rng(3).standard_normal(N)
    for _ in range(2):
        with ti.ad.FwdMode(program.loss, program.x, v):
            program.loss[None] = 0.0
            program.run()
        np.testing.assert_allclose(program.loss.dual[None], (4 * program.values**3 * v).sum())
        found = ti.ad.hvp(program.run, program.loss, program.x, v)
        np.testing.assert_allclose(found, 12 * program.values**2 * v, atol=1e-12)
        program.check()


def test_parts_of_arrays() -> None:
    """Elements that a reverse does not reach, or reaches twice, begin at 0 too."""
    x = ti.Vector.field(2, ti.f64, (8, N), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def some(t: int):
        for i in range(1, N - 1):
            loss[None] += x[t, i][0] * x[t, i - 1][1]

    @ti.kernel
    def every():
        for t, i in x:
            loss[None] += 3.0 * x[t, i][0] + x[t, i][1]

    values = np.random.default_rng(5).standard_normal((8, N, 2))
    x.from_numpy(values)
    for launches in ([lambda: some(2), every], [every, lambda: some(2)], [lambda: some(2)]):
        with ti.ad.Tape(loss):
            for launch in launches:
                launch()
        expected = np.zeros_like(values)
        if every in launches:
            expected += [3.0, 1.0]
        expected[2, 1 : N - 1, 0] += values[2, : N - 2, 1]
        expected[2, : N - 2, 1] += values[2, 1 : N - 1, 0]
        np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12)


def test_beside_sparse_blocks() -> None:
    """What lies between elements of a derivative is none."""
    x, beside = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64)
    ti.root.dense(ti.i, N).place(x)
    cells = ti.root.dense(ti.i, N)
    cells.place(x.grad)
    cells.pointer(ti.j, 4).place(beside)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += beside[i, 1]

    for i in range(N):
        beside[i, 1] = 3.0
    with ti.ad.Tape(loss):
        add_up()
    assert x.grad[5] == 0
    assert beside.to_numpy().sum() == 3.0 * N


def test_an_error_in_a_tape() -> None:
    """Gradients of a tape that was left by an error are 0, or what its reverse wrote."""
    program = Program()
    program.idle.grad.fill(3.0)
    with pytest.raises(ZeroDivisionError), ti.ad.Tape(program.loss):
        program.run()
        _ = 1 // 0
    for one in (program.x, program.y, program.idle):
        assert (one.grad.to_numpy() == 0).all()


class TestRows:
    """Of a field that a launch touches in part, the rest is cleared later."""

    STEPS, SIZE = 8, 16

    def field(self, offset: int = 0) -> Any:
        shape = (self.STEPS, self.SIZE)
        return ti.field(ti.f64, shape, offset=(offset, 0), needs_grad=True)

    def program(self, u: Any, loss: Any, offset: int = 0) -> Callable[[int], None]:
        @ti.kernel
        def step(t: ti.i32):
            for i in range(self.SIZE):
                u[t, i] = 2.0 * u[t - 1, i] + u[t - 1, ti.max(i - 1, 0)]

        @ti.kernel
        def finish(t: ti.i32):
            for i in range(self.SIZE):
                loss[None] += u[t, i]

        def run(last: int) -> None:
            for t in range(1, last + 1):
                step(t + offset)
            finish(last + offset)

        return run

    @pytest.mark.cpu_code("writes to its memory")
    @pytest.mark.parametrize("offset", [0, -3])
    def test_steps(self, offset: int) -> None:
        u, loss = self.field(offset), ti.field(ti.f64, (), needs_grad=True)
        run = self.program(u, loss, offset)
        for last in (7, 3, 5):
            loss[None] = 0.0
            with ti.ad.Tape(loss):
                run(last)
            writes = u.grad.find_memory().elements.deferred.pending.writes
            # each step leaves zeros in the row whose derivatives it took
            assert [write.box[0] for write in writes] == [(1, self.STEPS - 1)]
            found = u.grad.to_numpy()
            assert not waits(u.grad)
            assert found[0].sum() == pytest.approx(self.SIZE * 3.0**last)
            assert (found[1:] == 0).all()

    def test_rows_of_an_argument_that_changes(self) -> None:
        u, loss = self.field(), ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def square(t: ti.i32):
            for i in range(self.SIZE):
                loss[None] += u[t, i] ** 2

        u.fill(3.0)
        with ti.ad.Tape(loss):
            square(2)
            square(6)
            square(2)
        expected = np.zeros((self.STEPS, self.SIZE))
        expected[2], expected[6] = 12.0, 6.0
        np.testing.assert_array_equal(u.grad.to_numpy(), expected)

    def test_rows_that_data_decide(self) -> None:
        u, loss = self.field(), ti.field(ti.f64, (), needs_grad=True)
        row = ti.field(ti.i32, ())
        row[None] = 5

        @ti.kernel
        def square(t: ti.i32):
            for i in range(self.SIZE):
                loss[None] += u[t, i] * u[row[None], i]

        u.fill(3.0)
        with ti.ad.Tape(loss):
            square(2)
        expected = np.zeros((self.STEPS, self.SIZE))
        expected[[2, 5]] = 3.0
        np.testing.assert_array_equal(u.grad.to_numpy(), expected)

    @pytest.mark.cpu_code("writes to its memory")
    def test_after_some_are_cleared(self) -> None:
        """A second clearing, a launch that sets all of it, and one that reads all."""
        u, loss = self.field(), ti.field(ti.f64, (), needs_grad=True)
        run = self.program(u, loss)

        @ti.kernel
        def add_all():
            for t, i in u:
                loss[None] += t * u[t, i]

        for _ in range(2):
            with ti.ad.Tape(loss):
                run(2)
            assert waits(u.grad)
        u.grad[7, 3] = 1.0
        assert u.grad.to_numpy().sum() == pytest.approx(1.0 + 9.0 * self.SIZE)
        with ti.ad.Tape(loss):
            run(2)
            add_all()
        found = u.grad.to_numpy()
        assert (found[7] == 7.0).all() and (found[3] == 3.0).all()
        run_backwards(u, loss, run)
        add_all.grad()
        assert (u.grad.to_numpy()[7] == 7.0).all()


def run_backwards(u: Any, loss: Any, run: Callable[[int], None]) -> None:
    """A tape that leaves rows."""
    with ti.ad.Tape(loss):
        run(2)
    assert waits(u.grad)


def test_updates_that_go_around() -> None:
    """Rows of a gradient are added to by updates whose index goes around."""
    x = ti.field(ti.f64, (3, N), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(N):
            x[t + 1, i] = x[t, (i - 1 + N) % N] * x[t, (i - 1 + N) % N]

    @ti.kernel
    def add_up():
        for i in range(N):
            loss[None] += x[2, i]

    values = np.linspace(0.5, 2, N)
    for times in range(3):
        x.from_numpy(np.stack([values + times, values, values]))
        with ti.ad.Tape(loss):
            step(0)
            step(1)
            add_up()
        np.testing.assert_allclose(x.grad.to_numpy()[0], 4 * (values + times) ** 3, rtol=1e-12)
