"""Quotients and remainders of integers: a value for every divisor, the same wherever it is
computed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mlirad as ti

TYPES = [ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64]


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    yield
    ti.reset()


def wrapped(number: int, dtype: Any) -> int:
    number %= 1 << dtype.bits
    return number - (1 << dtype.bits) if dtype.is_signed and number >> (dtype.bits - 1) else number


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


# What Python's integers give, with 0 for a division by 0, wrapped to the type.
RULES: dict[str, Callable[[int, int], int]] = {
    "floor_quotient": lambda x, y: x // y if y else 0,
    "floor_remainder": lambda x, y: x % y if y else 0,
    "raw_quotient": lambda x, y: truncated(x, y) if y else 0,
    "raw_remainder": lambda x, y: x - y * truncated(x, y) if y else 0,
}


@ti.func
def floor_quotient(x, y):
    return x // y


@ti.func
def floor_remainder(x, y):
    return x % y


OPERATORS: dict[str, Any] = {
    "floor_quotient": floor_quotient,
    "floor_remainder": floor_remainder,
    "raw_quotient": ti.raw_div,
    "raw_remainder": ti.raw_mod,
}


def numbers(dtype: Any) -> list[int]:
    low, high = (
        (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
        if dtype.is_signed
        else (0, (1 << dtype.bits) - 1)
    )
    return [low, low + 1, 0, 1, 2, 3, 7, 100, high - 1, high] + (
        [-1, -2, -3, -7, -100] if dtype.is_signed else []
    )


def expected(dtype: Any, divisors: list[int]) -> list[list[list[int]]]:
    return [
        [[wrapped(rule(x, y), dtype) for y in divisors] for x in numbers(dtype)]
        for rule in RULES.values()
    ]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_divisor_in_memory(dtype: Any) -> None:
    operators, count = [OPERATORS[name] for name in RULES], len(numbers(dtype))
    a, b = ti.field(dtype, count), ti.field(dtype, count)
    result = ti.field(dtype, (len(operators), count, count))
    for field in (a, b):
        field.from_numpy(np.array(numbers(dtype), dtype.numpy))

    @ti.kernel
    def run():
        for i, j in ti.ndrange(count, count):
            for k in ti.static(range(len(operators))):
                result[k, i, j] = operators[k](a[i], b[j])

    run()
    assert result.to_numpy().tolist() == expected(dtype, numbers(dtype))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_constant_divisors(dtype: Any) -> None:
    """What is folded while compiling is what the machine computes."""
    operators, given = [OPERATORS[name] for name in RULES], numbers(dtype)
    divisors = [0, 1, 3, 8, 100, given[0], given[10 if dtype.is_signed else 1]]
    a = ti.field(dtype, len(given))
    by_constant, folded = [
        ti.field(dtype, (len(operators), len(given), len(divisors))) for _ in range(2)
    ]
    a.from_numpy(np.array(given, dtype.numpy))

    @ti.kernel
    def run():
        for i in a:
            for k, j in ti.static(ti.ndrange(len(operators), len(divisors))):
                by_constant[k, i, j] = operators[k](a[i], dtype(divisors[j]))
        for k, i, j in ti.static(ti.ndrange(len(operators), len(given), len(divisors))):
            folded[k, i, j] = operators[k](dtype(given[i]), dtype(divisors[j]))

    run()
    assert by_constant.to_numpy().tolist() == expected(dtype, divisors)
    assert folded.to_numpy().tolist() == expected(dtype, divisors)


def test_vectors_arguments_and_variables() -> None:
    @ti.kernel
    def run(n: int) -> ti.types.vector(4, int):
        v = ti.Vector([7, -7, n, 3])
        d = 0
        for k in range(n):
            d += k - k
        return v // d + v % n + 5 // n + ti.Vector([1, 2, 3, 4]) // ti.Vector([n, 1, 1, 1])

    assert list(run(0)) == [0, 2, 3, 4]
    assert list(run(2)) == [3 + 7 % 2 - 1, 4 + 1, 5, 4 + 2 + 1]


def line_of(kernel: Any, mark: str = "# here") -> int:
    lines, start = inspect.getsourcelines(kernel.function)
    return next(start + k for k, line in enumerate(lines) if line.rstrip().endswith(mark))


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("dtype", [ti.i32, ti.u8, ti.i64], ids=str)
def test_debug_names_the_line_of_a_division_by_zero(name: str, dtype: Any) -> None:
    ti.init(debug=True, cpu_max_num_threads=2)
    a, b = ti.field(dtype, 8), ti.field(dtype, 8)
    a.fill(9)
    b.fill(4)

    @ti.kernel
    def quotient():
        for i in a:
            a[i] = a[i] // b[i]  # here

    @ti.kernel
    def remainder():
        for i in a:
            a[i] = a[i] % b[i]  # here

    @ti.kernel
    def raw_quotient():
        for i in a:
            a[i] = ti.raw_div(a[i], b[i])  # here

    @ti.kernel
    def raw_remainder():
        for i in a:
            a[i] = ti.raw_mod(a[i], b[i])  # here

    kernel = {"floor_quotient": quotient, "floor_remainder": remainder}.get(name) or locals()[name]
    kernel()
    a.fill(9)
    b[3] = 0
    with pytest.raises(
        ti.TaichiAssertionError, match=r"integer division by zero: 9 by 0"
    ) as caught:
        kernel()
    assert f"{__file__}:{line_of(kernel)}:" in str(caught.value)


def test_debug_names_the_line_of_a_quotient_that_wraps() -> None:
    ti.init(debug=True)

    @ti.kernel
    def floor(a: ti.i32, b: ti.i32) -> ti.i32:
        return a // b  # here

    @ti.kernel
    def raw(a: ti.i64, b: ti.i64) -> ti.i64:
        return ti.raw_div(a, b)  # here

    @ti.kernel
    def rest(a: ti.i32, b: ti.i32) -> ti.i32:
        return a % b + ti.raw_mod(a, b)

    for kernel, bits in ((floor, 32), (raw, 64)):
        least = -(1 << (bits - 1))
        assert kernel(least, -2) == -least // 2
        assert kernel(least + 1, -1) == -least - 1
        with pytest.raises(
            ti.TaichiAssertionError, match=f"quotient of {least} and -1 does not fit into i{bits}"
        ) as caught:
            kernel(least, -1)
        assert f"{__file__}:{line_of(kernel)}:" in str(caught.value)
    assert rest(-(1 << 31), -1) == 0


def test_integers_to_negative_powers() -> None:
    @ti.kernel
    def run(a: int, n: int) -> int:
        return a**n  # here

    assert [run(0, -1), run(1, -3), run(-1, -3), run(2, -1), run(2, 10), run(0, 0)] == [
        0,
        1,
        -1,
        0,
        1024,
        1,
    ]
    ti.init(debug=True)
    assert run(2, 3) == 8
    with pytest.raises(
        ti.TaichiAssertionError, match="an integer to a negative power: the base is 0"
    ) as caught:
        run(0, -1)
    assert f"{__file__}:{line_of(run)}:" in str(caught.value)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_reverse_divides_as_its_primal(threads: int) -> None:
    """Indices, conditions and trips that are quotients, some by 0: the derivative is that of what
    was computed."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    n = 40
    x, loss = ti.field(ti.f64, n, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    a, b = ti.field(ti.i32, n), ti.field(ti.i32, n)
    random = np.random.default_rng(5)
    tops, bottoms = random.integers(-30, 30, n), random.integers(-3, 4, n)
    tops[0], bottoms[0] = -(1 << 31), -1
    x.from_numpy(np.linspace(0.5, 2.0, n))
    a.from_numpy(tops.astype(np.int32))
    b.from_numpy(bottoms.astype(np.int32))

    @ti.kernel
    def run():
        for i in x:
            k = abs(a[i] // b[i]) % n
            v = x[i]
            if a[i] % b[i] == 0:
                for _ in range(k // 8):
                    v = v * x[k]
            loss[None] += v * v

    with ti.ad.Tape(loss):
        run()

    def value(z: np.ndarray[Any, Any]) -> float:
        total = 0.0
        for i, (p, q) in enumerate(zip(tops.tolist(), bottoms.tolist())):
            quotient = wrapped(RULES["floor_quotient"](p, q), ti.i32)
            k = wrapped(abs(quotient), ti.i32) % n
            power = k // 8 if RULES["floor_remainder"](p, q) == 0 else 0
            total += (z[i] * z[k] ** power) ** 2
        return total

    start = x.to_numpy()
    assert loss[None] == pytest.approx(value(start), rel=1e-12)
    assert 0 in bottoms and len({value(start + 1e-3 * row) for row in np.eye(n)}) > n // 2
    for i, row in enumerate(np.eye(n)):
        difference = (value(start + 1e-6 * row) - value(start - 1e-6 * row)) / 2e-6
        assert x.grad[i] == pytest.approx(difference, rel=1e-6, abs=1e-7)


def test_ptx_divides_by_a_divisor_that_was_chosen() -> None:
    a, b = ti.field(ti.i32, 64), ti.field(ti.i32, 64)

    @ti.kernel
    def run():
        for i in a:
            a[i] = a[i] // b[i]

    text = run.ptx()
    divisions = re.findall(r"\bdiv\.s32\s+%r\d+, %r\d+, (%r\d+);", text)
    assert divisions
    for divisor in divisions:
        assert re.search(rf"selp\.b32\s+{divisor}, 1, ", text)


def test_a_constant_divisor_costs_nothing() -> None:
    a = ti.field(ti.i32, 64)

    @ti.kernel
    def run():
        for i in a:
            a[i] = a[i] // 7 + a[i] % 5

    text = run.ir()
    assert "arith.floordivsi" in text
    assert "arith.select" not in text and "arith.cmpi" not in text


@pytest.mark.parametrize("step", [1, -1])
def test_eight_bits_by_constants(step: int) -> None:
    """All numbers of 8 bits, in loops that run forward and backward."""
    numbers_of_8_bits, divisors = np.arange(-128, 128), (1, 3, 5, 7, 10, 100, 127)
    x = ti.field(ti.i8, 256)
    quotient = ti.field(ti.i8, (len(divisors), 256))
    x.from_numpy(numbers_of_8_bits.astype(np.int8))

    @ti.kernel
    def divide() -> None:
        for n in range(256):
            i = n if ti.static(step > 0) else 255 - n
            for d in ti.static(range(len(divisors))):
                quotient[d, i] = x[i] // ti.cast(ti.static(divisors[d]), ti.i8)

    divide()
    for row, divisor in zip(quotient.to_numpy(), divisors):
        np.testing.assert_array_equal(row, numbers_of_8_bits // divisor)
