"""Integers that choose what is overwritten, and change on the way; against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, integers, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_indices_that_the_host_changes_between_launches() -> None:
    x, loss, order = variable(N), scalar(), integers(0, 1, 2, 3, 4)

    @ti.kernel
    def gather():
        ti.loop_config(serialize=True)
        for i in range(N):
            x[order[i]] = ti.sin(x[order[i]] * x[order[(i + 1) % N]])

    def run() -> None:
        gather()
        order.from_numpy(np.array([4, 4, 0, 1, 3], np.int32))
        gather()
        order[2] = 3
        gather()
        order.fill(2)
        total(x, loss)

    check(run, [x], loss)


def test_a_permutation_applied_to_itself() -> None:
    x, loss, order = variable(N), scalar(), integers(2, 0, 3, 4, 1)

    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for i in range(N):
            x[i] *= x[order[i]]
            order[i] = order[order[i]]

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


def test_bits_in_conditions_and_indices() -> None:
    x, loss, flags = variable(N), scalar(), integers(5, 2, 7, 0, 12)

    @ti.kernel
    def step():
        for i in x:
            if (flags[i] & 1) ^ ((flags[i] >> 1) & 1):
                x[i] *= x[i]
            elif ~flags[i] & 4:
                x[i] = ti.sin(x[i])
            flags[i] = (flags[i] << 1 | flags[i] >> 2) & 15

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


def test_integer_division_and_remainders_of_state() -> None:
    x, loss, k = variable(N), scalar(), integers(7, -3, 4, 9, -8)

    @ti.kernel
    def step():
        for i in x:
            j = k[i] // 2 % N
            for _ in range(ti.abs(k[i]) % 3):
                x[i] = x[i] * 0.9 + ti.sin(x[i] * j)
            k[i] = k[i] * 3 - j

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


@pytest.mark.parametrize("bits", [ti.i8, ti.u8], ids=["i8", "u8"])
def test_indices_that_wrap_around(bits: Any) -> None:
    """What is read at an index of 8 bits, and overwritten afterwards, is kept where it was."""
    x, y, loss = variable(320), variable(300, seed=1), scalar()

    @ti.kernel
    def step():
        for i in range(300):
            k = ti.cast(ti.cast(i, bits), ti.i32) + 60
            y[i] *= ti.sin(x[(k + 320) % 320])
        for i in x:
            x[i] = ti.cos(x[i])

    check(lambda: (step(), total(x, loss), total(y, loss)), [x, y], loss)


def test_writes_that_meet_because_indices_wrap_around() -> None:
    x, y, loss = variable(300), variable(300, seed=1), scalar()

    @ti.kernel
    def spread():
        for i in range(300):
            y[ti.cast(ti.cast(i, ti.i8), ti.i32) + 128] = x[i] ** 2

    with (
        pytest.raises(RuntimeError, match=r"'x_1'\[\d+\] is written here in iteration \d+ of"),
        ti.ad.Tape(loss),
    ):
        spread()
        total(y, loss)
