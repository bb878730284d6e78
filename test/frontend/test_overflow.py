"""Messages where integers overflow, and shifts by any number of bits."""

import operator
from collections.abc import Callable
from typing import Any

import pytest

import mlirad as ti

TYPES = [ti.i8, ti.u8, ti.i16, ti.u16, ti.i32, ti.u32, ti.i64, ti.u64]
OPERATORS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "+": ("Addition", operator.add),
    "-": ("Subtraction", operator.sub),
    "*": ("Multiplication", operator.mul),
}


def limits(dtype: Any) -> tuple[int, int]:
    if dtype.is_signed:
        return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1
    return 0, (1 << dtype.bits) - 1


def wrapped(value: int, dtype: Any) -> int:
    low, _ = limits(dtype)
    return (value - low) % (1 << dtype.bits) + low


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_overflow_is_reported_where_it_happens(
    dtype: Any, symbol: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ti.init(debug=True)
    name, exact = OPERATORS[symbol]

    @ti.kernel
    def run(a: dtype, b: dtype) -> dtype:
        c = a
        if ti.static(symbol == "+"):
            c = a + b
        elif ti.static(symbol == "-"):
            c = a - b
        else:
            c = a * b
        return c

    low, high = limits(dtype)
    root = 1 << dtype.bits // 2
    for a in (low, low + 1, 0, 1, 2, root - 1, root // 2, high - 1, high):
        for b in (low, 0, 1, 2, root // 2, high):
            capfd.readouterr()
            value = exact(a, b)
            assert run(a, b) == wrapped(value, dtype)
            message = f"{name} overflow detected in File" if not low <= value <= high else ""
            said = capfd.readouterr().out
            assert (message in said and f"c = a {symbol} b" in said) if message else not said


def test_nothing_is_reported_of_floats_negations_and_without_debug(
    capfd: pytest.CaptureFixture[str],
) -> None:
    @ti.kernel
    def run(a: ti.u32, x: float) -> ti.u32:
        y = x * x
        return -a + ti.cast(y > 1, ti.u32)

    ti.init(debug=True)
    assert run(3, 1e30) == 2**32 - 2

    @ti.kernel
    def wraps(a: int) -> int:
        return a * a

    ti.init()
    assert wraps(1 << 20) == 0
    assert capfd.readouterr().out == ""


def test_overflow_in_a_differentiated_loop(capfd: pytest.CaptureFixture[str]) -> None:
    ti.init(debug=True, default_fp=ti.f64)
    x, y = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def run():
        for i in range(4):
            weight = 1
            for _ in range(i * 20):
                weight *= 2
            y[None] += x[i] * weight

    with ti.ad.Tape(y):
        run()
    assert x.grad.to_numpy().tolist() == [1, 2**20, 0, 0]
    # 2**31 and 2**32, each in two iterations, and not again in the reverse
    assert capfd.readouterr().out.count("Multiplication overflow") == 4


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_shifts_by_any_number(dtype: Any) -> None:
    @ti.kernel
    def left(a: dtype, count: dtype) -> dtype:
        return a << count

    @ti.kernel
    def right(a: dtype, count: dtype) -> dtype:
        return a >> count

    @ti.kernel
    def constant(a: dtype) -> dtype:
        return (a << ti.cast(33, dtype)) ^ (a >> ti.cast(35, dtype))

    width = max(32, dtype.bits)
    low, high = limits(dtype)
    for a in (low, 1, 77, high):
        for count in (0, 1, dtype.bits - 1, dtype.bits, dtype.bits + 1, 2 * dtype.bits - 1, 100):
            assert left(a, count) == wrapped(a << count % width, dtype)
            assert right(a, count) == wrapped(a >> count % width, dtype)
        expected = wrapped(a << 33 % width, dtype) ^ (a >> 35 % width)
        assert constant(a) == wrapped(expected, dtype)


def test_shift_to_the_left_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    ti.init(debug=True)

    @ti.kernel
    def run(a: ti.i32, count: ti.i32) -> ti.i32:
        return a << count

    for a, count in ((1, 30), (-1, 31), (-5, 3)):
        run(a, count)
    assert capfd.readouterr().out == ""
    for a, count in ((1, 31), (3, 30), (-5, 29)):
        run(a, count)
    assert capfd.readouterr().out.count("Shift left overflow detected in File") == 3
