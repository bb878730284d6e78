"""Atomics, their results, and sums over many iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(cpu_max_num_threads=2, fast_math=False)
    yield
    ti.reset()


ATOMICS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
}


BITS = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


@pytest.mark.parametrize("kind", [*ATOMICS, *BITS, "exchange"])
@pytest.mark.parametrize("dtype", [ti.i32, ti.i64, ti.u32, ti.f32, ti.f64], ids=str)
def test_atomics_give_the_value_before(kind: str, dtype: Any) -> None:
    if kind in BITS and dtype.is_float:
        return
    update = getattr(ti, f"atomic_{kind}")
    combine = {**ATOMICS, **BITS, "exchange": lambda before, value: value}[kind]
    x = ti.field(dtype, shape=())

    @ti.kernel
    def on_a_field(value: dtype) -> dtype:
        return update(x[None], value)

    @ti.kernel
    def on_a_local(start: dtype, value: dtype) -> dtype:
        s = start
        old = update(s, value)
        return s * 1000 + old

    for start, value in ((12, 5), (5, 12)):
        x[None] = start
        assert on_a_field(value) == start
        expected = combine(start, value) % (1 << 32) if dtype == ti.u32 else combine(start, value)
        assert x[None] == expected
        local = on_a_local(start, value)
        assert (
            local == (expected * 1000 + start) % (1 << 32)
            if dtype == ti.u32
            else local == expected * 1000 + start
        )


@pytest.mark.parametrize("kind", [*ATOMICS, *BITS])
def test_atomics_from_many_iterations(kind: str) -> None:
    update = getattr(ti, f"atomic_{kind}")
    n = 4000
    values = np.random.default_rng(3).integers(0, 1 << 20, n).astype(np.int32)
    x, total, cells = (
        ti.field(ti.i32, shape=n),
        ti.field(ti.i32, shape=()),
        ti.field(ti.i32, shape=7),
    )
    x.from_numpy(values)
    start = -1 if kind == "and" else 0
    total[None] = start
    cells.fill(start)

    @ti.kernel
    def run():
        for i in x:
            update(total[None], x[i])
            update(cells[x[i] % 7], x[i])

    run()
    functions = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    expected, parts = np.array(start, np.int32), np.full(7, start, np.int32)
    with np.errstate(over="ignore"):
        for v in values:
            expected = functions[kind](expected, v)
            parts[v % 7] = functions[kind](parts[v % 7], v)
    assert total[None] == expected
    np.testing.assert_array_equal(cells.to_numpy(), parts)


@pytest.mark.parametrize("dtype", [ti.i32, ti.u8, ti.f32, ti.f64], ids=str)
def test_nothing_is_lost_in_exchanges(dtype: Any) -> None:
    n = 20_000
    found, place = ti.field(ti.i32, shape=100), ti.field(dtype, shape=())

    @ti.kernel
    def run():
        for i in range(n):
            found[ti.cast(ti.atomic_exchange(place[None], i % 99 + 1), ti.i32)] += 1
        found[ti.cast(place[None], ti.i32)] += 1

    run()
    values = np.arange(n) % 99 + 1
    np.testing.assert_array_equal(found.to_numpy(), np.bincount([0, *values], minlength=100))


def test_float_sums_keep_their_digits() -> None:
    n = 1_000_000
    x, total = ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=())
    values = np.random.default_rng(1).uniform(size=n).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def run():
        for i in x:
            total[None] += x[i]

    run()
    assert total[None] == pytest.approx(values.astype(np.float64).sum(), rel=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_to_an_element_chosen_under_a_condition(threads: int) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    x, s = ti.field(ti.f64, shape=8), ti.field(ti.f64, shape=4)
    x.from_numpy(np.arange(8.0))

    @ti.kernel
    def run(t: ti.i32):
        for i in x:
            if x[i] > 2.5:
                s[t + 1] += x[i]

    run(1)
    assert s.to_numpy() == pytest.approx([0, 0, 25, 0])


def test_an_operator_by_another_name() -> None:
    combine = ti.atomic_max

    @ti.kernel
    def run(n: int) -> int:
        best = -5
        for i in range(n):
            combine(best, (i * 7) % 11)
        return best

    assert (run(0), run(1), run(30)) == (-5, 0, 10)


def test_locals_that_a_parallel_loop_updates() -> None:
    n = 10_000

    @ti.kernel
    def run() -> ti.types.vector(4, ti.i64):
        total = ti.i64(0)
        largest = ti.i64(-1)
        last = ti.i64(0)
        v = ti.Vector([ti.i64(0), ti.i64(5)])
        for i in range(n):
            total += i
            ti.atomic_max(largest, i % 777)
            v[1] += 2
            if i == 1234:
                last = ti.i64(i)
        return ti.Vector([total, largest, last, v[0] + v[1]])

    assert run().to_list() == [n * (n - 1) // 2, 776, 1234, 5 + 2 * n]
