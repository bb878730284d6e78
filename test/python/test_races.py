"""Parallel iterations that feed one another, or overwrite each other's results: refused where a derivative passes."""
from __future__ import annotations

import numpy as np
import pytest
from gradients import check, names_both, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_a_recurrence_is_refused_and_serial_it_is_right() -> None:
    x, a, loss = variable(8), variable(9), scalar()

    @ti.kernel
    def racing():
        for i in range(8):
            a[i + 1] = a[i] + x[i]

    @ti.kernel
    def serial():
        ti.loop_config(serialize=True)
        for i in range(8):
            a[i + 1] = a[i] + x[i]
        loss[None] = a[8]

    with pytest.raises(ti.TaichiCompilationError, match=r"serialize=True") as caught, ti.ad.Tape(loss):
        racing()
    names_both(caught.value, "a[i + 1] = a[i] + x[i]")
    racing()
    a.fill(1.0)
    check(serial, [x, a], loss)


def test_one_cell_written_by_all_is_refused() -> None:
    x, loss = variable(8), scalar()

    @ti.kernel
    def run():
        for i in range(8):
            loss[None] = x[i]

    with pytest.raises(ti.TaichiCompilationError, match="without an atomic"), ti.ad.Tape(loss):
        run()


def test_constants_guards_and_single_iterations_pass() -> None:
    x, y, loss = variable(8), variable(8), scalar()

    @ti.kernel
    def run(chosen: ti.i32):
        for i in range(8):
            loss[None] = 0.0
            y[i] = x[i] ** 2
        for i in range(8):
            if i == chosen:
                y[0] = 3.0 * x[i]
        for _ in range(1):
            loss[None] = y[0]
        for i, j in ti.ndrange(2, 4):
            loss[None] += y[4 * i + j]

    with ti.ad.Tape(loss):
        run(5)
    expected = np.where(np.arange(8) > 0, 2 * x.to_numpy(), 0.0)
    expected[5] += 6.0
    assert x.grad.to_numpy() == pytest.approx(expected)
