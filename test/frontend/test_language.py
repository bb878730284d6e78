"""Expressions and assignments: comparisons, conditions, tuples, results, print."""

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


def test_chained_comparisons() -> None:
    @ti.kernel
    def run(a: int, b: int, c: int) -> int:
        return ti.cast(a < b <= c != a, ti.i32)

    for a in range(-1, 3):
        for b in range(3):
            for c in range(3):
                assert run(a, b, c) == (a < b <= c != a)


def test_and_or_not_stop_early_and_give_the_deciding_value() -> None:
    seen = ti.field(ti.i32, shape=())

    @ti.func
    def note(value, mark):
        seen[None] += mark
        return value

    @ti.kernel
    def both(a: int, b: int) -> int:
        return note(a, 1) and note(b, 10)

    @ti.kernel
    def either(a: int, b: int) -> int:
        return note(a, 1) or note(b, 10)

    @ti.kernel
    def neither(a: int, b: int) -> int:
        return ti.cast(not (a or b), ti.i32)

    for a in (0, 2):
        for b in (0, 3):
            seen[None] = 0
            assert both(a, b) == (a and b) and seen[None] == (11 if a else 1)
            seen[None] = 0
            assert either(a, b) == (a or b) and seen[None] == (1 if a else 11)
            assert neither(a, b) == (not (a or b))


def test_a_guarded_index_is_not_read() -> None:
    ti.init(debug=True)
    x = ti.field(ti.i32, shape=4)
    x.fill(1)

    @ti.kernel
    def run() -> int:
        total = 0
        for i in range(8):
            if i < 4 and x[i] > 0:
                total += 1
        return total

    assert run() == 4


def test_ternaries_take_one_branch() -> None:
    x = ti.field(ti.f32, shape=2)

    @ti.kernel
    def run(n: int) -> ti.f32:
        return ti.atomic_add(x[0], 1) + 5 if n > 0 else ti.atomic_add(x[1], 1) - 5.5

    assert (run(1), run(0), run(2)) == (5, -5.5, 6)
    np.testing.assert_array_equal(x.to_numpy(), [2, 1])


def test_select_promotes_both_sides() -> None:
    @ti.kernel
    def run(n: int) -> ti.f32:
        return ti.select(n, 1, 2.5)

    assert (run(3), run(0)) == (1.0, 2.5)


def test_tuple_assignment_reads_before_it_writes() -> None:
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def run(n: int) -> int:
        a, b, c = 0, 1, 100
        for _ in range(n):
            a, b = b, a + b
        x[0], x[1] = a, b
        x[1], x[0], x[2] = x[0], x[1], x[0] + x[1]
        c, a = a, c
        return a * 1000 + c

    assert run(10) == 100 * 1000 + 55
    np.testing.assert_array_equal(x.to_numpy(), [89, 55, 144])


def test_a_loop_that_sets_a_variable_runs_in_order() -> None:
    @ti.kernel
    def run(n: int) -> int:
        a, last = 1, ti.Vector([0, 0])
        for i in range(n):
            a = (a * 7 + i) % 1000003
            last[0] = i
        return a * 2 + last[0]

    a = 1
    for i in range(200_000):
        a = (a * 7 + i) % 1000003
    assert run(200_000) == a * 2 + 199_999


def test_chained_assignment() -> None:
    x = ti.field(ti.f32, shape=2)

    @ti.kernel
    def run() -> int:
        a = b = x[0] = 3
        a += 1
        x[1] = b
        return a

    assert run() == 4
    np.testing.assert_array_equal(x.to_numpy(), [3, 3])


def test_augmented_assignment_of_every_operator() -> None:
    x = ti.field(ti.i32, shape=11)

    @ti.kernel
    def run(a: int, b: int):
        for i in x:
            x[i] = a
        x[0] += b
        x[1] -= b
        x[2] *= b
        x[3] //= b
        x[4] %= b
        x[5] &= b
        x[6] |= b
        x[7] ^= b
        x[8] <<= b
        x[9] >>= b
        x[10] **= b

    run(13, 3)
    np.testing.assert_array_equal(x.to_numpy(), [16, 10, 39, 4, 1, 1, 15, 14, 104, 1, 2197])


def test_true_division_in_place() -> None:
    x = ti.field(ti.f64, shape=())
    x[None] = 7

    @ti.kernel
    def run() -> ti.f64:
        y = 1.0
        y /= 4
        x[None] /= 2
        return y

    assert run() == 0.25 and x[None] == 3.5


def test_comprehensions_and_containers() -> None:
    @ti.kernel
    def run(n: int) -> int:
        squares = [i * i for i in range(5) if i != 2]
        named = {7: 1, **{k: k + n for k in range(3)}}
        grid = [[i * 10 + j for j in range(2)] for i in range(2)]
        total = 0
        for s in ti.static(squares):
            total += s
        return total * 10000 + named[2] * 100 + grid[1][1] + len(squares)

    assert run(5) == (0 + 1 + 9 + 16) * 10000 + 700 + 11 + 4


def test_results_of_every_shape() -> None:
    @ti.kernel
    def many() -> ti.types.vector(300, ti.i32):
        return ti.Vector([i * i for i in range(300)])

    @ti.kernel
    def pair(n: int) -> tuple[ti.i32, ti.f64]:
        return n, n / 4

    @ti.kernel
    def flag(n: int) -> ti.u1:
        return n > 2

    assert many().to_list() == [i * i for i in range(300)]
    assert pair(3) == (3, 0.75)
    assert flag(3) is True and flag(1) is False


def test_print(capfd: pytest.CaptureFixture[str]) -> None:
    braces, percent = "{1:.1f} {0:d}", "%d %.3f"

    @ti.kernel
    def run(n: int, x: ti.f32):
        v = ti.Vector([n, n + 1])
        print("a", n, x, 3, "100% {ok}")
        print(f"{n} {x:.2f}", v, sep="|", end=";\n")
        print(braces.format(n, x), percent % (n, x))

    run(7, 0.5)
    ti.sync()
    assert capfd.readouterr().out == "a 7 0.500000 3 100% {ok}\n7 0.50|[7, 8];\n0.5 7 7 0.500\n"


def test_hints_for_gpus() -> None:
    x, y = ti.field(ti.f64, 4), ti.field(ti.f64, 4)

    @ti.kernel
    def run():
        ti.block_local(x)
        ti.cache_read_only(x, y)
        for i in x:
            y[i] = x[i] + 1.0

    run()
    assert y.to_numpy().tolist() == [1.0] * 4

    @ti.kernel
    def wrong():
        ti.block_local(3)

    with pytest.raises(ti.TaichiSyntaxError, match=r"ti\.block_local takes fields"):
        wrong()
