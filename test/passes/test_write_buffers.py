"""Large arrays that are written past the caches (`insert-write-buffers`) hold what NumPy computes,
wherever a loop begins and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs.machines import CASES, left_by
from write_buffers import buffer_all

import mlirad as ti
from mlirad.passes.cpu.insert_write_buffers import LEAST

ENOUGH = {ti.i8: 1, ti.i16: 2, ti.f16: 2, ti.f32: 4, ti.i32: 4, ti.f64: 8, ti.u64: 8}
RANGES = [(0, None), (1, -1), (5, 9), (1000, 900), (1023, 1025), (1024, 2048), (77, 77777)]
COLUMNS = 1777  # no row but the first begins at a cache line
ROWS = LEAST // 4 // COLUMNS + 1


def is_streamed(kernel: Any, *arguments: object, mode: str = "primal") -> bool:
    """Return whether the code of a kernel has stores that are not temporal."""
    return "nontemporal" in kernel.ir(*arguments, stage="memref", mode=mode)


@pytest.mark.parametrize(("dtype", "threads"), [(ti.f32, 1), *((dtype, 2) for dtype in ENOUGH)])
@pytest.mark.cpu_code("host memory")
def test_ranges(dtype: Any, threads: int) -> None:
    """Two arrays of one size, whose first and last elements a loop leaves alone."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
    size = LEAST // ENOUGH[dtype] + 3
    numbers = np.random.default_rng(1).integers(-40, 40, size).astype(np.int32)
    given, left, right = ti.field(ti.i32, size), ti.field(dtype, size), ti.field(dtype, size)
    given.from_numpy(numbers)

    @ti.kernel
    def both(low: ti.i32, high: ti.i32):
        for i in range(low, high):
            left[i] = ti.cast(given[i] * 2, dtype)
            right[i] = ti.cast(given[i] + i % 3, dtype)

    expected = numbers * 2, numbers + np.arange(size) % 3
    for low, last in RANGES:
        high = size if last is None else last % size
        left.fill(7)
        right.fill(7)
        both(low, high)
        for found, values in zip((left, right), expected):
            filled = np.full(size, 7).astype(found.to_numpy().dtype)
            filled[low : max(low, high)] = values[low : max(low, high)].astype(filled.dtype)
            np.testing.assert_array_equal(found.to_numpy(), filled)
    assert is_streamed(both, 0, size)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.cpu_code("host memory")
def test_components_of_rows(lanes: int | None) -> None:
    """A matrix at each point of rows that begin anywhere, in lanes, too; and a sum beside."""
    options = {} if lanes is None else {"lanes": lanes}
    ti.init(arch=ti.cpu, cpu_max_num_threads=2, **options)
    given = ti.field(ti.f32, (ROWS, COLUMNS))
    made = ti.Matrix.field(2, 2, ti.f32, shape=(ROWS, COLUMNS))
    total = ti.field(ti.f64, ())
    numbers = np.random.default_rng(2).integers(-9, 9, (ROWS, COLUMNS)).astype(np.float32)
    given.from_numpy(numbers)

    @ti.kernel
    def squares():
        for i, j in ti.ndrange((2, ROWS - 1), (1, COLUMNS - 3)):
            v = given[i, j]
            if v > 2.0:
                v += given[i - 1, j + 1]
            made[i, j] = ti.Matrix([[v, 1.0], [2.0 * v, v * v]])
            total[None] += v

    squares()
    v = numbers[2:-1, 1:-3].copy()
    v += np.where(v > 2, numbers[1:-2, 2:-2], 0)
    expected = np.zeros((ROWS, COLUMNS, 2, 2), np.float32)
    expected[2:-1, 1:-3] = np.stack([v, np.ones_like(v), 2 * v, v * v], -1).reshape(*v.shape, 2, 2)
    np.testing.assert_array_equal(made.to_numpy(), expected)
    assert total[None] == v.sum(dtype=np.float64)
    assert is_streamed(squares)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.cpu_code("host memory")
def test_gradients(threads: int) -> None:
    """Sums that begin at 0, and those that go on; a gradient that only some launches clear."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads, default_fp=ti.f32)
    size = LEAST // 4 + 5
    numbers = np.random.default_rng(3).integers(-4, 4, size).astype(np.float32)
    x, y = (ti.field(ti.f32, size, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)
    x.from_numpy(numbers)
    y.from_numpy(numbers[::-1].copy())

    @ti.kernel
    def add_squares():
        for i in x:
            term = 0.5 * x[i] + y[i]
            loss[None] += term * term

    term = 0.5 * numbers + numbers[::-1]
    for times in (1, 2, 1):
        with ti.ad.Tape(loss):
            for _ in range(times):
                add_squares()
        np.testing.assert_array_equal(x.grad.to_numpy(), times * term)
        np.testing.assert_array_equal(y.grad.to_numpy(), times * 2 * term)
    assert is_streamed(add_squares, mode="reverse")
    ones = np.ones(size, np.float32)
    products = ti.ad.hvp(add_squares, loss, [x, y], [numbers, ones])
    np.testing.assert_array_equal(products[0], 0.5 * numbers + ones)
    np.testing.assert_array_equal(products[1], numbers + 2 * ones)


@pytest.mark.cpu_code("host memory")
@pytest.mark.parametrize(("name", "mode"), CASES[::4])
def test_buffers_change_no_bit(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs whose arrays are small, each with as many lanes as it has without buffers."""
    expected = left_by("x64", name, mode, lanes=8)
    buffer_all(monkeypatch)
    for symbol, values in left_by("x64", name, mode, lanes=8).items():
        np.testing.assert_array_equal(values, expected[symbol], err_msg=symbol)


@pytest.mark.cpu_code("host memory")
def test_what_is_read_again() -> None:
    """A kernel that writes a large array, reads it in its next loop, and adds to it."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=2)
    size = LEAST // 4 + 1
    x, y = ti.field(ti.f32, size), ti.field(ti.f32, size)

    @ti.kernel
    def twice():
        for i in x:
            x[i] = i % 64
        for i in x:
            y[i] = x[size - 1 - i] + x[i]
        for i in x:
            x[i] += y[i]

    twice()
    first = (np.arange(size) % 64).astype(np.float32)
    np.testing.assert_array_equal(y.to_numpy(), first + first[::-1])
    np.testing.assert_array_equal(x.to_numpy(), 2 * first + first[::-1])
    assert is_streamed(twice)
