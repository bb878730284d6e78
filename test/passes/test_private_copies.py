"""Copies per thread that a kernel's code holds from one launch to the next: each launch finds
zeros, whatever ended the one before."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.passes.loops.insert_private_copies import private_copy

CELLS, ADDED = 128, 40  # cells of each row, and updates of each cell on average
PARTICLES = CELLS * CELLS * ADDED
Run = Callable[[], None]
pytestmark = pytest.mark.cpu_code("copies per thread of a CPU")


def plain(dtype: Any) -> Any:
    return ti.field(dtype, (CELLS, CELLS), needs_grad=dtype in (ti.f32, ti.f64))


def vectors(dtype: Any) -> Any:
    return ti.Vector.field(2, dtype, (CELLS, CELLS), needs_grad=dtype in (ti.f32, ti.f64))


def blocks(dtype: Any) -> Any:
    cells = ti.field(dtype, needs_grad=dtype in (ti.f32, ti.f64))
    trees = ti.root.dense(ti.ij, CELLS // 8).dense(ti.ij, 8)
    trees.place(cells, *[cells.grad] * (cells.grad is not None))
    return cells


def one_row(dtype: Any) -> Any:
    """A row of many, all updates in this one."""
    return ti.field(dtype, (3, CELLS, CELLS), needs_grad=dtype in (ti.f32, ti.f64))


GRIDS = (plain, vectors, blocks, one_row)


def scatter(make: Callable[[Any], Any], dtype: Any) -> tuple[Any, Any, Any, Run, Any]:
    """A grid, what is added to it, a loss, and launches: of what adds, and of the loss, with what
    the first one reads."""
    has_grad = dtype in (ti.f32, ti.f64)
    grid, amounts = make(dtype), ti.field(dtype, PARTICLES, needs_grad=has_grad)
    where = ti.field(ti.i32, PARTICLES)
    read = ti.field(dtype, (CELLS, CELLS), needs_grad=has_grad)
    loss = ti.field(dtype, (), needs_grad=has_grad)
    random = np.random.default_rng(3)
    where.from_numpy(random.integers(0, CELLS * CELLS, PARTICLES).astype(np.int32))
    amounts.from_numpy(random.integers(0, 4, PARTICLES))
    read.from_numpy(random.integers(0, 4, (CELLS, CELLS)))

    @ti.kernel
    def add(limit: ti.i32):
        for p in amounts:
            assert p < limit
            i, j = where[p] // CELLS, where[p] % CELLS
            if ti.static(make is vectors):
                grid[i, j][p % 2] += amounts[p] * read[i, j]
                grid[i, j][1] += 2 * amounts[p]
            elif ti.static(make is one_row):
                grid[1, i, j] += amounts[p] * read[i, j]
            else:
                grid[i, j] += amounts[p] * read[i, j]

    @ti.kernel
    def measure():
        for i, j in read:
            if ti.static(make is vectors):
                loss[None] += grid[i, j][0] * grid[i, j][1]
            elif ti.static(make is one_row):
                loss[None] += grid[1, i, j] * grid[1, i, j]
            else:
                loss[None] += grid[i, j] * grid[i, j]

    return grid, amounts, loss, lambda limit=PARTICLES: add(limit), (measure, read)


@pytest.fixture(autouse=True)
def small_copies_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_copy, "LASTING", 1 << 12)


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i32, ti.u8, ti.i64], ids=str)
@pytest.mark.parametrize("make", GRIDS, ids=lambda one: one.__name__)
def test_launches_find_zeros(make: Callable[[Any], Any], dtype: Any) -> None:
    """Integers, whose sums are exact: on one thread, and on several, launch by launch."""
    found = []
    for threads in (1, 2, 5):
        ti.init(cpu_max_num_threads=threads)
        grid, _, _, run, _ = scatter(make, dtype)
        found.append([])
        for _ in range(3):
            run()
            found[-1].append(grid.to_numpy().copy())
    for other in found[1:]:
        for expected, values in zip(found[0], other):
            np.testing.assert_array_equal(values, expected)
    assert len(np.unique(found[0][2])) > 50


@pytest.mark.parametrize("make", GRIDS, ids=lambda one: one.__name__)
def test_derivatives(make: Callable[[Any], Any]) -> None:
    found = []
    for threads in (1, 2):
        ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
        grid, amounts, loss, run, (measure, read) = scatter(make, ti.f64)
        found.append([])
        for _ in range(2):
            grid.fill(0)
            with ti.ad.Tape(loss):
                run()
                measure()
            found[-1] += [amounts.grad.to_numpy(), read.grad.to_numpy()]
    assert np.abs(found[0][0]).max() > 10 and np.abs(found[0][1]).max() > 10
    for expected, values in zip(*found):
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_failed_launch_leaves_nothing() -> None:
    """The copies of a launch that fails on its way are not used again."""
    ti.init(debug=True, cpu_max_num_threads=2)
    grid, _, _, run, _ = scatter(plain, ti.i32)
    run()
    expected = grid.to_numpy().copy()
    with pytest.raises(ti.TaichiAssertionError):
        run(PARTICLES // 3)
    grid.fill(0)
    run()
    np.testing.assert_array_equal(grid.to_numpy(), expected)


def test_launches_of_several_threads() -> None:
    """Launches at the same time have copies of their own."""
    ti.init(cpu_max_num_threads=2)
    grid, _, _, run, _ = scatter(plain, ti.i32)
    run()
    expected = grid.to_numpy().copy()
    threads = [Thread(target=lambda: [run() for _ in range(8)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ti.sync()
    grid.fill(0)
    run()
    np.testing.assert_array_equal(grid.to_numpy(), expected)


@pytest.mark.parametrize(("cells", "is_held"), [(512, True), (511, False)])
def test_only_large_copies_last(cells: int, is_held: bool) -> None:
    ti.init(cpu_max_num_threads=2)
    x, k = ti.field(ti.f32, cells), ti.field(ti.i32, 4 * cells)

    @ti.kernel
    def add():
        for i in k:
            x[k[i]] += 1.0

    assert ("$launch" in add.ir(stage="memref")) == is_held
