"""Loops that ask where they are give what Python gives, wherever they are split."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.program import program

OFFSET = 40  # of an index in the results: loops begin below 0


def _asked(i: int, k: int, c: int, b: int, n: int) -> list[int]:
    """What an iteration asks, in Python."""
    at = k * i + c
    window = sum(0 <= i + r - 1 < n for r in range(3))
    return [
        at < b, at <= b, at > b, at >= b, at == b, at != b, b < at, max(at, b), min(b, at),
        at % n, at // n, window, 5 if i == b else 7 if i < c else 9,
    ]  # fmt: skip


@ti.kernel
def ask(
    y: ti.template(),
    low: ti.template(),
    high: ti.template(),
    k: ti.template(),
    c: ti.template(),
    b: ti.template(),
    n: ti.template(),
):
    for i in range(low, high):
        at = k * i + c
        p = i + OFFSET
        y[p, 0] = at < b
        y[p, 1] = at <= b
        y[p, 2] = at > b
        y[p, 3] = at >= b
        y[p, 4] = at == b
        y[p, 5] = at != b
        y[p, 6] = b < at
        y[p, 7] = ti.max(at, b)
        y[p, 8] = ti.min(b, at)
        y[p, 9] = at % n
        y[p, 10] = at // n
        count = 0
        for r in range(3):
            if i + r - 1 >= 0 and i + r - 1 < n:
                count += 1
        y[p, 11] = count
        if i == b:
            y[p, 12] = 5
        elif i < c:
            y[p, 12] = 7
        else:
            y[p, 12] = 9


@pytest.mark.parametrize("seed", range(8))
def test_answers_are_those_of_python(seed: int) -> None:
    ti.init(cpu_max_num_threads=1 + seed % 2, opt_level=seed % 4)
    program().config.thread_worth = 0
    random = np.random.default_rng(seed)
    low, high = int(random.integers(-40, 20)), int(random.integers(0, 100))
    k, c = int(random.choice([-3, -1, 1, 1, 2])), int(random.integers(-12, 12))
    b, n = int(random.integers(-5, 90)), int(random.choice([1, 2, 7, 64, 97]))
    y = ti.field(ti.i32, (OFFSET + 100, 13))
    y.fill(-1000)
    ask(y, low, high, k, c, b, n)
    expected = np.full((OFFSET + 100, 13), -1000)
    for i in range(low, high):
        expected[i + OFFSET] = _asked(i, k, c, b, n)
    np.testing.assert_array_equal(y.to_numpy(), expected)


@pytest.mark.cpu_code("lanes are the CPU's")
def test_one_line_is_told_of_one_loop() -> None:
    ti.init(cpu_max_num_threads=1, lanes=8)
    x, y = ti.field(ti.f32, 64), ti.field(ti.f32, 64)

    @ti.kernel
    def smooth():
        for i in x:
            y[i] = x[ti.max(i - 1, 0)] + x[(i + 1) % 64]

    told = [line for line in str(smooth.explain()).splitlines() if "primal" in line]
    assert len(told) == 1 and "run as lanes" in told[0]
