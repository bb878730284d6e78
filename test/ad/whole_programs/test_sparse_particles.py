"""Gradients of particles that activate the cells of a sparse grid, against those on a dense one."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad as ti


def _particles(layout: str) -> tuple[float, np.ndarray]:
    """Two steps of particles that add to a grid, which acts on itself and then on them."""
    ti.init()
    count = 40
    grid = ti.field(ti.f64, needs_grad=True)
    if layout == "dense":
        ti.root.dense(ti.ij, 32).place(grid)
    else:
        ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 2).dense(ti.ij, 4).place(grid)
    position = ti.Vector.field(2, ti.f64, (3, count), needs_grad=True)
    total = ti.field(ti.f64, (), needs_grad=True)
    start = np.zeros((3, count, 2))
    start[0] = np.random.default_rng(3).uniform(4.0, 20.0, (count, 2))
    position.from_numpy(start)

    @ti.kernel
    def add(t: ti.i32):
        for p in range(count):
            low = ti.cast(position[t, p], ti.i32)
            part = position[t, p] - low
            grid[low] += (1.0 - part.x) * (1.0 - part.y)
            grid[low + ti.Vector([1, 1])] += part.x * part.y

    @ti.kernel
    def act():
        for index in ti.grouped(grid):
            grid[index] = 0.1 * grid[index] + 0.05 * grid[index] ** 2

    @ti.kernel
    def move(t: ti.i32):
        for p in range(count):
            low = ti.cast(position[t, p], ti.i32)
            part = position[t, p] - low
            position[t + 1, p] = position[t, p] + part * grid[low]

    @ti.kernel
    def add_up():
        for p in range(count):
            total[None] += position[2, p].norm_sqr()

    with ti.ad.Tape(total):
        for t in range(2):
            add(t)
            act()
            move(t)
        add_up()
    return total[None], position.grad.to_numpy()[0]


def test_gradients_of_particles_that_activate_a_grid() -> None:
    """Sums of several particles are in any order."""
    (value, found), (wanted, expected) = _particles("sparse"), _particles("dense")
    assert value == pytest.approx(wanted, rel=1e-13)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert np.abs(expected).max() > 1.0
