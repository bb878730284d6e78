"""Loops of every kind, jumps out of them, and the order in which they run."""

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


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_while_loops() -> None:
    @ti.kernel
    def run(start: int) -> int:
        n, steps = start, 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    assert [run(n) for n in range(1, 30)] == [collatz(n) for n in range(1, 30)]


def nested_jumps(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 5 == 4:
            continue
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 3 == 0:
                continue
            for k in range(j):
                if k == 4:
                    break
                if k % 2:
                    continue
                total += 100 * i + 10 * j + k
            total += 1
        if total > 4000:
            break
        total += 7
    return total


def test_break_and_continue_at_depth() -> None:
    compiled, parts = ti.kernel(serial_loop), ti.kernel(parallel_loop)
    for n in (0, 1, 3, 8, 20):
        assert compiled(n) == nested_jumps(n)
        assert parts(n) == sum(
            j for i in range(n) if i % 3 for j in range(i) if j % 2 == 0 and j < 6
        )


def serial_loop(n: int) -> int:
    total = 0
    ti.loop_config(serialize=True)
    for i in range(n):
        if i % 5 == 4:
            continue
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 3 == 0:
                continue
            for k in range(j):
                if k == 4:
                    break
                if k % 2:
                    continue
                total += 100 * i + 10 * j + k
            total += 1
        if total > 4000:
            break
        total += 7
    return total


def parallel_loop(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        for j in range(i):
            if j >= 6:
                break
            if j % 2:
                continue
            total += j
    return total


def test_break_of_a_parallel_loop_is_refused() -> None:
    @ti.kernel
    def run():
        for i in range(4):
            if i == 2:
                break

    with pytest.raises(ti.TaichiSyntaxError, match="break"):
        run()


def test_a_loop_under_a_condition_is_serial() -> None:
    x = ti.field(ti.i32, shape=5000)

    @ti.kernel
    def run(n: int):
        if True:
            for i in range(1, 5000):
                x[i] = x[i - 1] + 1
        if n > 0:
            for i in range(1, 5000):
                x[i] += x[i - 1]

    run(0)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(5000))
    run(1)
    np.testing.assert_array_equal(x.to_numpy(), np.cumsum(np.arange(5000)))


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_ranges(step: int) -> None:
    @ti.kernel
    def constant_step(a: int, b: int) -> int:
        total = 0
        ti.loop_config(serialize=True)
        for i in range(a, b, step):
            total = total * 3 + i
        return total

    @ti.kernel
    def variable_step(a: int, b: int, s: int) -> int:
        total = 0
        for _ in range(1):
            for i in range(a, b, s):
                total = total * 3 + i
        return total

    for a, b in ((0, 7), (7, 0), (-3, 4), (2, 2)):
        expected = 0
        for i in range(a, b, step):
            expected = expected * 3 + i
        assert constant_step(a, b) == expected
        assert variable_step(a, b, step) == expected


def test_ndrange_and_grouped() -> None:
    x = ti.field(ti.i32, shape=(4, 5, 6))
    y = ti.field(ti.i32, shape=(4, 5, 6))

    @ti.kernel
    def run(n: int):
        for i, j, k in ti.ndrange((1, n), 5, (2, 4)):
            x[i, j, k] += 100 * i + 10 * j + k
        for I in ti.grouped(y):
            y[I] = I[0] * 100 + I.y * 10 + I[2]
        for I in ti.grouped(ti.ndrange(2, (1, 3), 6)):
            y[I] = -I.sum()

    run(3)
    i, j, k = np.indices((4, 5, 6))
    number = 100 * i + 10 * j + k
    inside = (i >= 1) & (i < 3) & (k >= 2) & (k < 4)
    np.testing.assert_array_equal(x.to_numpy(), np.where(inside, number, 0))
    np.testing.assert_array_equal(
        y.to_numpy(), np.where((i < 2) & (j >= 1) & (j < 3), -(i + j + k), number)
    )


def test_inner_loops_over_fields_and_boxes() -> None:
    x, total = ti.field(ti.i32, shape=(3, 4)), ti.field(ti.i32, shape=2)

    @ti.kernel
    def run():
        for _ in range(1):
            for i, j in x:
                x[i, j] = i * 4 + j
            for I in ti.grouped(x):
                total[0] += x[I]
            for i, j in ti.ndrange(3, (i0(), 4)):
                if j == 3:
                    continue
                total[1] += x[i, j]

    @ti.func
    def i0():
        return 1

    run()
    values = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(total.to_numpy(), [values.sum(), values[:, 1:3].sum()])


def test_loops_run_in_order() -> None:
    x = ti.field(ti.i32, shape=3000)

    @ti.kernel
    def run(n: int) -> int:
        for i in range(n):
            x[i] = i
        total = 0
        for i in range(n):
            total += x[n - 1 - i]
        x[0] = total
        for i in range(1, n):
            x[i] += x[0]
        return x[1]

    assert run(3000) == 3000 * 2999 // 2 + 1


def test_loop_options() -> None:
    x = ti.field(ti.i32, shape=5000)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(1, 5000):
            x[i] = x[i - 1] + 2
        ti.loop_config(parallelize=2, block_dim=128)
        for i in x:
            x[i] += 1

    run()
    np.testing.assert_array_equal(x.to_numpy(), 2 * np.arange(5000) + 1)


def test_indices_that_a_loop_assigns() -> None:
    """They are variables of an iteration, as in Python."""
    x, n = ti.field(ti.i32, (7, 12)), 4

    @ti.kernel
    def run():
        for i in ti.ndrange(n):
            i = n - 1 - i
            x[0, i] = i
        for i, j in ti.ndrange(n, 3):
            i = n - 1 - i
            x[1, 3 * i + j] = 10 * i + j
        for index in ti.grouped(ti.ndrange(n, 3)):
            index[0] = n - 1 - index[0]
            x[2, 3 * index[0] + index[1]] = index[0]
        for _ in range(1):
            for i in range(n):
                x[3, i] = i
                i += 5
                x[3, n + i - 5] = i
            for i in range(2 * n, 0, -2):
                if i == 4:
                    break
                i *= 3
                x[4, i // 6] = i
        for i in range(n):
            for j in range(i):
                i = i + j
            x[5, i] += 1
        for i, j in x:
            i = ti.cast(i, ti.i32)
            if i == 6:
                x[i, j] = j

    run()
    found = x.to_numpy()
    np.testing.assert_array_equal(found[0, :n], np.arange(n))
    np.testing.assert_array_equal(found[1], [10 * i + j for i in range(n) for j in range(3)])
    np.testing.assert_array_equal(found[2], np.repeat(np.arange(n), 3))
    np.testing.assert_array_equal(found[3, : 2 * n], [*range(n), *range(5, 5 + n)])
    np.testing.assert_array_equal(found[4], [0, 0, 0, 18, 24, *[0] * 7])
    np.testing.assert_array_equal(found[5], [1, 1, 0, 1, 0, 0, 1, *[0] * 5])
    np.testing.assert_array_equal(found[6], np.arange(12))


def test_iterations_whose_assigned_indices_meet() -> None:
    """They are seen as other indices are: a gradient is refused where iterations meet."""
    ti.init(default_fp=ti.f64)
    x, y = (ti.field(ti.f64, 8, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)
    x.fill(3)

    @ti.kernel
    def turned():
        for i in x:
            i = 7 - i
            y[i] = x[i] ** 2

    @ti.kernel
    def halved():
        for i in x:
            i = i // 2
            y[i] = x[i] ** 2

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    with ti.ad.Tape(loss):
        turned()
        total()
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(8, 6.0))
    with pytest.raises(ti.TaichiCompilationError, match="iterations"), ti.ad.Tape(loss):
        halved()
        total()


def test_variables_of_ti_static() -> None:
    """They are known while compiling, where they are assigned once."""
    flag, count = False, 3

    @ti.func
    def doubled(known: ti.template()):
        result = 1
        if ti.static(known):
            result = 2
        return result

    @ti.func
    def handed_on(known: ti.template()):
        kept = ti.static(known)
        return doubled(kept)

    @ti.func
    def increased(number: ti.template()):
        number += 1

    @ti.kernel
    def run() -> ti.types.vector(7, ti.i32):
        n, off = ti.static(count * 2, flag)
        total, changed = 0, ti.static(count)
        passed = ti.static(count)
        for k in ti.static(range(n)):
            if ti.static(not off and k != 1):
                total += k
        for _ in range(2):
            inner = ti.static(flag)
            if ti.static(inner == False):  # noqa: E712
                total += 100
            changed += 1
        increased(passed)
        v = ti.Vector.zero(ti.i32, n)
        return ti.Vector([total, v.n, changed, passed, handed_on(True), handed_on(off), n // 4])

    assert run().to_list() == [214, 6, 5, 4, 2, 1, 1]


def test_returns_end_unrolled_loops() -> None:
    x = ti.field(ti.i32, 4)

    @ti.func
    def first_above(limit):
        for k in ti.static(range(4)):
            if k * k > limit:
                return k
            x[k] = 1
            for j in ti.static(range(2)):
                if k + j == 9 - limit:
                    return 10 * k + j
        return -1

    @ti.kernel
    def run(limit: int) -> int:
        return first_above(limit)

    def expected(limit: int) -> tuple[int, list[int]]:
        seen = [0] * 4
        for k in range(4):
            if k * k > limit:
                return k, seen
            seen[k] = 1
            for j in range(2):
                if k + j == 9 - limit:
                    return 10 * k + j, seen
        return -1, seen

    for limit in (-1, 0, 2, 5, 7, 8, 9, 20):
        x.fill(0)
        assert (run(limit), x.to_numpy().tolist()) == expected(limit)
