"""Ranges of loops over memory that is updated in place; against finite differences."""

from __future__ import annotations

import pytest
from gradients import check, integers, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_grouped_boxes_in_place() -> None:
    x, loss = variable(4, 4), scalar()

    @ti.kernel
    def step():
        for p in ti.grouped(ti.ndrange((1, 3), (0, 4))):
            x[p] *= x[p] + 0.2
        for i, j in ti.ndrange(4, 4):
            if i > j:
                x[i, j] = ti.sin(x[i, j]) * x[i, j]
        for p in ti.grouped(x):
            x[p] = 0.9 * x[p] * x[p] + 0.1 * p[0]

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


@pytest.mark.parametrize("bounds", [(4, -1, -1), (4, 0, -2), (0, 5, 2), (3, 3, 1), (4, 1, 1)])
def test_ranges_known_at_run_time(bounds: tuple[int, int, int]) -> None:
    x, loss = variable(N), scalar()

    @ti.kernel
    def step(a: ti.i32, b: ti.i32, s: ti.i32):
        for _ in range(1):
            for i in range(a, b, s):
                x[i] = x[i] * x[(i + 2) % N] + 0.1 * ti.sin(x[i])

    check(lambda: (step(*bounds), step(*bounds), total(x, loss)), [x], loss)


def test_a_bound_that_the_loop_itself_changes() -> None:
    x, loss, n = variable(N), scalar(), integers(3, 1, 0, 2, 4)

    @ti.kernel
    def step():
        for i in x:
            for j in range(n[i]):
                x[i] *= 0.9 + 0.1 * j
                n[i] += 1
                x[i] = ti.sin(x[i]) * n[i]

    check(lambda: (step(), total(x, loss)), [x], loss)


def test_reads_behind_a_break() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in x:
            last = 0
            for j in range(N):
                y[i] *= 0.6 + x[j]
                last = j
                if y[i] > 1.5:
                    y[i] = ti.sin(y[i])
                    break
                x_j = x[j]
                y[i] += x_j * x_j
            loss[None] += y[i] * x[last] + x[(last + 1) % N]

    check(lambda: (step(), step()), [x, y], loss)


def test_continue_over_updates() -> None:
    x, loss, k = variable(N), scalar(), integers(0, 1, 2, 3, 4)

    @ti.kernel
    def step():
        for i in x:
            j = 0
            while True:
                j += 1
                k[i] = (k[i] + j) % 5
                if k[i] == 3:
                    continue
                x[i] = x[i] * 0.7 + ti.sin(x[i] * k[i])
                if j > 4 or x[i] > 1.4:
                    break

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


def test_loops_that_run_not_at_all() -> None:
    x, loss, n = variable(N), scalar(), integers(0, 0, 0, 0, 0)

    @ti.kernel
    def step(m: ti.i32):
        for i in x:
            a = x[i]
            for _ in range(n[i]):
                x[i] = a * 7.0
                for _ in range(m):
                    a *= a
            while n[i] > 0:
                n[i] -= 1
                x[i] *= x[i]
            x[i] *= a
        for i in range(m):
            x[i] = 0.0

    check(lambda: (step(0), n.fill(1), step(0), n.fill(0), step(2), total(x, loss)), [x], loss)


def test_conditions_that_write() -> None:
    """The evaluation that ends a loop changes memory, too, which the rest of the program reads."""
    x, loss, n, k = variable(N), scalar(), integers(3, 1, 4, 0, 2), integers(0, 1, 2, 3, 4)

    @ti.kernel
    def step():
        for i in x:
            while ti.atomic_sub(n[i], 1) > 0:
                x[i] = ti.sin(x[i]) + 0.3 * n[i]
            x[i] *= x[i] * n[i] * 0.5
            for j in range(2):
                while ti.atomic_add(k[i], j + 1) < 5:
                    x[i] = x[i] * 0.5 + ti.sin(x[i]) * k[i] * 0.1
                x[i] += x[i] * x[i] * k[i] * 0.1
                k[i] -= 4

    check(lambda: (step(), n.fill(2), step(), total(x, loss)), [x], loss)
