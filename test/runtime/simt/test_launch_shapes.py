"""Boxes of every shape, cut into blocks of every shape: each iteration runs once."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import mlirad as ti

SHAPES = (
    (1,),
    (1000,),
    (64, 64),
    (10, 100),
    (3, 1000),
    (1000, 3),
    (5, 6, 7),
    (8, 8, 8),
    (2, 3, 40, 33),
    (600_000, 4),
)


@pytest.fixture(autouse=True)
def simt() -> None:
    """The kernels of a GPU, on the CPU."""
    ti.init(arch=ti.simt)


@pytest.mark.parametrize("block_dim", [None, 1, 32, 100, 1024])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fields(shape: tuple[int, ...], block_dim: int | None) -> None:
    """Extents that are known while compiling."""
    x = ti.field(ti.i32, shape)

    @ti.kernel
    def count():
        ti.loop_config(block_dim=block_dim)
        for i in ti.grouped(x):
            x[i] += i.sum() + 1

    @ti.kernel
    def count_as_usual():
        for i in ti.grouped(x):
            x[i] += i.sum() + 1

    (count if block_dim is not None else count_as_usual)()
    assert np.array_equal(x.to_numpy(), np.indices(shape).sum(axis=0) + 1)


@pytest.mark.parametrize("block_dim", [None, 32, 100])
@pytest.mark.parametrize(
    "shape", [(7, 5), (70, 1), (1, 70), (0, 5), (70_000, 33), (3, 4, 5)], ids=str
)
def test_arrays(shape: tuple[int, ...], block_dim: int | None) -> None:
    """Extents that are known at the launch: of a 2-D grid with more rows than it has blocks for,
    too."""
    values = np.zeros(shape, np.int32)

    @ti.kernel
    def count(a: ti.types.ndarray(ti.i32, ndim=len(shape))):
        ti.loop_config(block_dim=block_dim)
        for i in ti.grouped(a):
            a[i] += i.sum() + 1

    @ti.kernel
    def count_as_usual(a: ti.types.ndarray(ti.i32, ndim=len(shape))):
        for i in ti.grouped(a):
            a[i] += i.sum() + 1

    (count if block_dim is not None else count_as_usual)(values)
    if prod(shape):
        assert np.array_equal(values, np.indices(shape).sum(axis=0) + 1)


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i16], ids=str)
def test_streams(dtype: object) -> None:
    """What threads take 16 bytes of."""
    n = 1 << 18
    x, y = ti.field(dtype, n), ti.field(dtype, n)
    total = ti.field(ti.f64, ())

    @ti.kernel
    def run():
        for i in x:
            y[i] = 2 * x[i] + 1
            total[None] += 1.0

    values = np.arange(n) % 1000
    x.from_numpy(values.astype(x.to_numpy().dtype))
    run()
    assert np.array_equal(y.to_numpy(), 2 * values + 1)
    assert total[None] == n
