"""Atomics beside values that they change, in place; against finite differences."""

from __future__ import annotations

from typing import Any

import pytest
from gradients import check, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_values_before_atomics_on_own_elements() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in x:
            before = ti.atomic_add(x[i], y[i] * x[i])
            old = ti.atomic_mul(y[i], before)
            low = ti.atomic_min(y[i], x[i] * 0.9)
            high = ti.atomic_sub(x[i], low * old)
            loss[None] += before * old + high * x[i] * y[i]

    check(lambda: (step(), step()), [x, y], loss)


def test_a_counter_that_gives_out_places() -> None:
    x, y, loss, count = variable(N), variable(N, seed=1), scalar(), ti.field(ti.i32, shape=())

    @ti.kernel
    def compact():
        ti.loop_config(serialize=True)
        for i in range(N):
            if x[i] > 0.9:
                k = ti.atomic_add(count[None], 1)
                y[k] = x[i] * y[k]

    @ti.kernel
    def end():
        for k in range(count[None]):
            loss[None] += y[k] ** 2 * (k + 1)

    check(lambda: (compact(), end(), compact_again(compact, x), total(y, loss)), [x, y], loss)


def compact_again(compact: Any, x: Any) -> None:
    x[0] = 0.1
    x[1] = 0.2
    x[2] = 0.3
    x[3] = 0.1
    x[4] = 0.0
    compact()


def test_a_histogram_read_while_it_is_reused() -> None:
    x, bins, loss = variable(8), variable(3), scalar()

    @ti.kernel
    def fill():
        for j in bins:
            bins[j] = 0.0
        for i in x:
            bins[ti.cast(x[i] * 2.0, ti.i32) % 3] += x[i] * x[i]
        for i in x:
            x[i] /= 1.0 + bins[ti.cast(x[i] * 2.0, ti.i32) % 3]

    check(lambda: (fill(), fill(), total(x, loss), total(bins, loss)), [x], loss)


def test_atomics_on_locals() -> None:
    x, loss = variable(N), scalar()

    @ti.kernel
    def step():
        for i in x:
            s, m = x[i], 0.2
            for j in range(4):
                before = ti.atomic_add(s, x[(i + j) % N] * s)
                ti.atomic_max(m, before)
                ti.atomic_mul(s, 0.5 + m)
            loss[None] += s * m

    check(step, [x], loss)
