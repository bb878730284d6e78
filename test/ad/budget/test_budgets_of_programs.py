"""Tapes within a budget: arrays of Python's, loops, functions with gradients of their own, sparse
fields; reverses that are broken off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.ad.budget.budget import Budget
from mlirad.ad.budget.copies import Copies
from mlirad.errors import TaichiMemoryError, TaichiRuntimeError

N, STEPS = 16, 12
Values = Callable[..., Any]


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1)


class Squares:
    """A field that steps overwrite, and the sum of its squares."""

    def __init__(self) -> None:
        self.x = ti.field(ti.f64, N, needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        x, loss = self.x, self.loss

        @ti.kernel
        def step():
            for i in x:
                x[i] = ti.sin(x[i]) + 0.1 * x[i] ** 2

        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] ** 2

        self.step, self.total = step, total

    def gradient(self, run: Callable[[], None], **options: Any) -> tuple[Any, int]:
        """The gradient of a program, and how many launches ran again."""
        self.x.from_numpy(np.linspace(0.8, 1.1, N))
        with ti.ad.Tape(self.loss, **options) as tape:
            run()
            self.total()
        keeper, repeated = tape.ledger.keeper, 0
        if isinstance(keeper, Budget):
            assert keeper.copies.peak <= keeper.bytes
            repeated = sum(keeper.planner.repeated.values())
        return self.x.grad.to_numpy(), repeated

    def check(self, run: Callable[[], None], memory: int = 5 * 8 * N) -> None:
        """Compare a program within a budget with the same program without one."""
        expected, _ = self.gradient(run)
        left = self.x.to_numpy()
        found, repeated = self.gradient(run, memory=memory)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(self.x.to_numpy(), left)
        assert repeated > 0


@pytest.fixture
def squares() -> Squares:
    return Squares()


def _numpy() -> Any:
    return np.linspace(0.3, 0.9, N)


def _strided() -> Any:
    return np.repeat(_numpy(), 2)[::2]


def _torch() -> Any:
    return pytest.importorskip("torch").tensor(_numpy())


def _ndarray() -> Any:
    found = ti.ndarray(ti.f64, N)
    found.from_numpy(_numpy())
    return found


@pytest.mark.filterwarnings("ignore:.*has no gradient, but carries a derivative")
@pytest.mark.parametrize("make", [_numpy, _strided, _torch, _ndarray])
def test_arrays_that_kernels_write(squares: Squares, make: Values) -> None:
    x, left = squares.x, []

    @ti.kernel
    def forth(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(N):
            a[i] = a[i] * x[i] * b[i] + 0.5
            x[i] = ti.sin(x[i])

    @ti.kernel
    def back(a: ti.types.ndarray()):
        for i in range(N):
            x[i] = x[i] * a[i]

    def run() -> None:
        array, factors = make(), make()
        for _ in range(STEPS):
            forth(array, factors)
            back(array)
        left.append(array)

    squares.check(run)
    values = [one.to_numpy() if isinstance(one, ti.Ndarray) else np.asarray(one) for one in left]
    np.testing.assert_array_equal(*values)


def test_an_array_that_python_changes_is_named_with_room_for_all(squares: Squares) -> None:
    x, factors = squares.x, np.ones(N)

    @ti.kernel
    def scale(b: ti.types.ndarray()):
        for i in range(N):
            x[i] = x[i] * x[i] * b[i]

    def run() -> None:
        for t in range(3):
            scale(factors)
            factors[3] = 2.0 + t

    with pytest.raises(TaichiRuntimeError, match="'b' of kernel 'scale' before kernel 'scale'"):
        squares.gradient(run, memory="1MB")


def test_arrays_that_share_memory_are_named(squares: Squares) -> None:
    x, array = squares.x, np.ones(N + 1)

    @ti.kernel
    def grow(a: ti.types.ndarray()):
        for i in range(N):
            a[i] = a[i] + x[i]

    def run() -> None:
        grow(array[1:])
        grow(array[:N])

    with pytest.raises(TaichiRuntimeError, match="share memory"):
        squares.gradient(run, memory="1MB")


def test_checkpointed_loops(squares: Squares) -> None:
    def run() -> None:
        for t in ti.ad.checkpointed(range(STEPS), state=[squares.x], snapshots=2):
            if t % 3 == 0:
                for _ in ti.ad.checkpointed(range(2), state=squares.x, snapshots=1):
                    squares.step()
            squares.step()

    squares.check(run)


@pytest.mark.filterwarnings("ignore:.*has no gradient, but carries a derivative")
def test_a_function_with_a_gradient_on_an_array(squares: Squares) -> None:
    x, array = squares.x, np.linspace(0.1, 0.2, N)

    @ti.kernel
    def halve(a: ti.types.ndarray()):
        for i in x:
            x[i] = x[i] * 0.5 + a[i]

    @ti.kernel
    def halve_back(a: ti.types.ndarray()):
        for i in x:
            x.grad[i] = x.grad[i] * (0.5 + a[i])

    @ti.kernel
    def grow(a: ti.types.ndarray()):
        for i in range(N):
            a[i] = a[i] * 1.01

    @ti.ad.grad_replaced
    def half() -> None:
        halve(array)

    @ti.ad.grad_for(half)
    def half_grad() -> None:
        halve_back(array)

    def run() -> None:
        array[:] = np.linspace(0.1, 0.2, N)
        for _ in range(STEPS):
            squares.step()
            half()
            grow(array)

    squares.check(run, memory=25 * 8 * N)


def test_a_given_gradient_that_overwrites_the_program_is_named(squares: Squares) -> None:
    y = ti.field(ti.f64, N)
    x = squares.x

    @ti.kernel
    def look():
        for i in x:
            y[i] = x[i] * 2.0

    @ti.kernel
    def spoil():
        for i in x:
            y[i] = 7.0

    @ti.ad.grad_replaced
    def looked() -> None:
        look()

    @ti.ad.grad_for(looked)
    def looked_grad() -> None:
        spoil()

    with pytest.raises(TaichiRuntimeError, match=r"function 'looked' overwrites field"):
        squares.gradient(looked, memory="1MB")


def test_sparse_fields_that_are_read(squares: Squares) -> None:
    x, parts = squares.x, ti.field(ti.f64)
    ti.root.pointer(ti.i, 4).dense(ti.i, N // 4).place(parts)

    @ti.kernel
    def fill_parts():
        for i in range(N // 2):
            parts[i] = 0.5 + 0.01 * i

    @ti.kernel
    def move():
        for i in parts:
            x[i] = ti.sin(x[i]) * parts[i] + x[i]

    fill_parts()

    def run() -> None:
        for _ in range(STEPS):
            move()

    squares.check(run)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("where", ["run", "put"])
def test_a_reverse_that_is_broken_off_leaves_what_the_program_left(
    squares: Squares, error: type[BaseException], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a launch that runs again: what it has written by then is nothing."""
    calls: list[int] = []
    original = getattr(Copies, where)

    def broken(self: Copies, one: Any) -> None:
        original(self, one)
        calls.append(1)
        if len(calls) == 4:
            squares.x.find_memory().elements.fill(float("nan"))
            raise error

    expected, _ = squares.gradient(lambda: [squares.step() for _ in range(STEPS)] and None)
    left, tape = squares.x.to_numpy(), _recorded(squares)
    with monkeypatch.context() as patched:
        patched.setattr(Copies, where, broken)
        with pytest.raises(error):
            tape.grad({squares.loss: None})
    np.testing.assert_array_equal(squares.x.to_numpy(), left)
    tape.grad({squares.loss: None})
    np.testing.assert_array_equal(squares.x.grad.to_numpy(), expected)


def _recorded(squares: Squares) -> ti.ad.Tape:
    squares.x.from_numpy(np.linspace(0.8, 1.1, N))
    squares.loss.fill(0)
    with ti.ad.Tape(memory=5 * 8 * N) as tape:
        for _ in range(STEPS):
            squares.step()
        squares.total()
    return tape


@pytest.mark.parametrize("memory", ["1MB", 0.5, 12 * 8 * N])
def test_second_derivatives_keep_tangents_within_a_budget(squares: Squares, memory: Any) -> None:
    start, x = ti.field(ti.f64, N, needs_grad=True), squares.x

    @ti.kernel
    def begin():
        for i in x:
            x[i] = start[i]

    @ti.kernel
    def step():
        for i in x:
            x[i] = ti.sin(x[i]) * start[i] + 0.1 * x[i] ** 2

    def run() -> None:
        begin()
        for _ in ti.ad.checkpointed(range(STEPS), state=[x], snapshots=2):
            step()
        squares.total()

    start.from_numpy(np.linspace(0.5, 1.3, N))
    direction = np.linspace(1.0, 2.0, N)
    expected = ti.ad.hvp(run, squares.loss, start, direction)
    found = ti.ad.hvp(run, squares.loss, start, direction, memory=memory)
    np.testing.assert_array_equal(found, expected)


def test_a_budget_for_tangents_too_small_for_values_and_tangents(squares: Squares) -> None:
    """What the field and the loss hold at first, and at the end, with tangents."""

    def run() -> None:
        squares.step()
        squares.step()
        squares.total()

    direction = np.ones(N)
    with pytest.raises(TaichiMemoryError, match="is the lowest limit that works") as refused:
        ti.ad.hvp(run, squares.loss, squares.x, direction, memory=8)
    assert f"memory={2 * 2 * 8 * (N + 1)} " in str(refused.value)


def test_an_assert_and_a_print_are_silent_the_second_time(
    squares: Squares, capfd: pytest.CaptureFixture[str]
) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, debug=True)
    again = Squares()
    x = again.x

    @ti.kernel
    def look():
        for i in x:
            assert x[i] > 0.0
            x[i] = ti.sin(x[i]) + 0.2

    again.check(lambda: [look() for _ in range(STEPS)] and None)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("is_field", [True, False], ids=["field", "ndarray"])
@pytest.mark.filterwarnings("ignore:.*has no gradient, but carries")
@pytest.mark.filterwarnings("ignore:.*over a value that carries a derivative")
def test_tangents_of_what_was_constant_when_it_ran_first(is_field: bool) -> None:
    """A launch that is done again when what it wrote carries a derivative."""
    x, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (N, ()))
    at = np.linspace(0.5, 1.5, N)
    x.from_numpy(at)
    f, a = ti.field(ti.f64, N), ti.ndarray(ti.f64, N)
    f.fill(1.0)
    a.fill(1.0)

    @ti.kernel
    def scale(a: ti.types.ndarray()):
        for i in a:
            if ti.static(is_field):
                f[i] *= 1.5
            else:
                a[i] *= 1.5

    @ti.kernel
    def by_x(a: ti.types.ndarray()):
        for i in a:
            if ti.static(is_field):
                f[i] *= x[i]
            else:
                a[i] *= x[i]

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in a:
            if ti.static(is_field):
                loss[None] += f[i] ** 2
            else:
                loss[None] += a[i] ** 2

    def run() -> None:
        scale(a)
        by_x(a)
        (f if is_field else a)[1] = 0.7
        total(a)

    expected = np.full(N, 2 * 1.5**2)
    expected[1] = 0.0
    for _ in range(2):
        found = ti.ad.hvp(run, loss, x, np.ones(N), memory=1 << 20)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert (f.to_numpy() == 1.0).all() and (a.to_numpy() == 1.0).all()
