"""Parallel loops whose iterations may meet under conditions: those that never do, and those that
can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlirad as ti

N = 16


def apart(
    x: Any, y: Any, u: Any, m: Any, solid: Any, chosen: Any, loss: Any
) -> list[Callable[..., Any]]:
    """Kernels in which no iteration reads or overwrites what another one writes."""
    found: list[Callable[..., Any]] = []

    @found.append
    def even(n: ti.i32):
        for i in range(N - 1):
            if i % 2 == 0:
                x[i + 1] = 2 * x[i]

    @found.append
    def odd(n: ti.i32):
        for i in range(1, N - 1):
            if i % 2:
                x[i] = x[i - 1] + x[i + 1]

    @found.append
    def red_black(n: ti.i32):
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            if (i + j) % 2 == n:
                u[i, j] = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1])

    @found.append
    def red_black_needed(n: ti.i32):
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            if (i + j) % 2 == n:
                u[i, j] = ti.sin(u[i + 1, j] * u[i - 1, j])

    @found.append
    def low_bit(n: ti.i32):
        for i in range(N - 1):
            if (i & 1) == 0:
                x[i] = x[i + 1] * x[i + 1]

    @found.append
    def tree(n: ti.i32):
        for i in x:
            if i & 3 == 0 and i + 2 < N:
                x[i] += x[i + 2]

    @found.append
    def third(n: ti.i32):
        for i in range(1, N - 1):
            if i % 3 == 1:
                x[i] = x[i - 1] * x[i + 1]

    @found.append
    def halves(n: ti.i32):
        for i in x:
            if i < N // 2:
                x[i] = x[i + N // 2]

    @found.append
    def edges(n: ti.i32):
        for i, j in u:
            if i == 0:
                u[i, j] = u[i + 1, j]
            elif i == N - 1:
                u[i, j] = u[i - 1, j]

    @found.append
    def ends(n: ti.i32):
        for i in x:
            if i < 3:
                x[i] = x[i + 8]
            if i > 12:
                x[i] = -x[i - 5]

    @found.append
    def by_argument(n: ti.i32):
        for i in x:
            if i == n:
                loss[None] = x[i]

    @found.append
    def by_field(n: ti.i32):
        for i in x:
            if i == chosen[None]:
                loss[None] = x[i]

    @found.append
    def first(n: ti.i32):
        for i, j in u:
            if i == 0 and j == 0:
                loss[None] = u[i, j]

    @found.append
    def one_of_two(n: ti.i32):
        for i in range(N - 1):
            if i == 3 or i == 7:
                x[i] = x[i + 1]

    @found.append
    def extrapolate(n: ti.i32):
        for i, j in ti.ndrange(N - 1, N):
            if solid[i, j] == 1 and solid[i + 1, j] == 0:
                u[i, j] = u[i + 1, j]

    @found.append
    def extrapolate_by_truth(n: ti.i32):
        for i, j in ti.ndrange(N - 1, N):
            if solid[i, j] and not solid[i + 1, j]:
                u[i, j] = u[i + 1, j]

    @found.append
    def skipped(n: ti.i32):
        for i in range(N - 1):
            if i % 2 == 1:
                continue
            x[i + 1] = 2 * x[i]

    @found.append
    def odd_even_sort(n: ti.i32):
        for i in range(N - 1):
            if i % 2 == n and x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]

    @found.append
    def pairs(n: ti.i32):
        for i in range(N // 2):
            x[2 * i], x[2 * i + 1] = x[2 * i + 1], x[2 * i]

    @found.append
    def rows(n: ti.i32):
        for i in range(N):
            for j in range(1, n):
                u[i, j] = u[i, j - 1] * 2

    @found.append
    def as_often_as_told(n: ti.i32):
        for i in range(N):
            for _ in range(m[i]):
                x[i] = x[i] * 0.5

    @found.append
    def constants(n: ti.i32):
        for i, j in ti.ndrange(N - 1, N):
            if solid[i, j]:
                u[i, j] = 0.0
                u[i + 1, j] = 0.0

    return found


def meeting(x: Any, y: Any, u: Any, m: Any, loss: Any) -> list[Callable[..., Any]]:
    """Kernels in which an iteration can read or overwrite what another one writes."""
    found: list[Callable[..., Any]] = []

    @found.append
    def by_argument(n: ti.i32):
        for i in range(N - 1):
            if n > 0:
                x[i + 1] = 2 * x[i]

    @found.append
    def by_field(n: ti.i32):
        for i in range(N - 1):
            if m[i] > 0:
                x[i + 1] = 2 * x[i]

    @found.append
    def by_itself(n: ti.i32):
        for i in range(N - 1):
            if x[i] > 0:
                x[i + 1] = 2 * x[i]

    @found.append
    def in_a_loop(n: ti.i32):
        for i in range(N - 1):
            for j in range(n):
                u[i + 1, j] = 2 * u[i, j]

    @found.append
    def in_a_while(n: ti.i32):
        for i in range(N - 1):
            k = n
            while k > 0:
                k -= 1
                x[i + 1] = 2 * x[i]

    @found.append
    def too_near(n: ti.i32):
        for i in x:
            if i < 10:
                x[i] = x[i + 4]

    @found.append
    def every_third(n: ti.i32):
        for i in range(N - 3):
            if i % 3 == 1:
                x[i] = x[i + 3]

    @found.append
    def two_of_three(n: ti.i32):
        for i in range(N - 1):
            if i % 3 != 2:
                x[i] = x[i + 1]

    @found.append
    def diagonal(n: ti.i32):
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            if (i + j) % 2 == n:
                u[i, j] = u[i + 1, j + 1]

    @found.append
    def many_write(n: ti.i32):
        for i in x:
            if i > n:
                loss[None] = x[i]

    @found.append
    def a_row_writes(n: ti.i32):
        for i, j in u:
            if i == 0:
                loss[None] = u[i, j]

    @found.append
    def the_other_branch(n: ti.i32):
        for i in range(N - 1):
            if i % 2 == 0:
                x[i] = 1.0 * y[i]
            else:
                x[i] = x[i + 1]

    return found
