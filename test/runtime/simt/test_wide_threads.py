"""Stencils on grids so large that a thread takes 16 bytes of a row (`merge-iterations`): the values
of NumPy, and derivatives that are each other's transposes, at every end of a row."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import mlirad as ti

ORDERS = ("ascending", "descending", "shuffled")
ROWS = 530
TOLERANCE = {"f16": 4e-3, "f32": 1e-6, "f64": 1e-14}


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    """A program on the machine, that runs threads in one of the orders."""
    ti.init(arch=ti.simt, simt_order=request.param)
    return str(request.param)


def _stencil(dtype: object, width: int, first: int, last: int) -> tuple[Callable[[], None], ...]:
    """A step whose box begins and ends anywhere in rows, and that asks where it is."""
    x = ti.field(dtype, (ROWS, width), needs_grad=True, needs_dual=True)
    y = ti.field(dtype, (ROWS, width), needs_grad=True, needs_dual=True)

    @ti.kernel
    def step(limit: ti.i32):
        for i, j in ti.ndrange((1, ROWS - 1), (first, last)):
            total = 2.0 * x[i, j] + x[i - 1, j] + 0.5 * x[i + 1, j]
            if j > limit:
                total += 0.25 * x[i, j - 2]
            if j + 3 < width:
                total -= x[i, j + 3]
            y[i, j] += total

    return step, x, y


def _expected(x: np.ndarray, first: int, last: int, limit: int) -> np.ndarray:
    y, width = np.zeros_like(x), x.shape[1]
    columns = np.arange(first, last)
    total = 2 * x[1:-1, first:last] + x[:-2, first:last] + 0.5 * x[2:, first:last]
    left = columns[columns > limit]
    total[:, left - first] += 0.25 * x[1:-1, left - 2]
    right = columns[columns + 3 < width]
    total[:, right - first] -= x[1:-1, right + 3]
    y[1:-1, first:last] = total
    return y


CASES = [
    ("f32", 0, 512, 7),
    ("f32", 3, 511, 2),
    ("f32", 5, 510, 600),
    ("f32", 509, 511, 7),
    ("f32", 4, 4, 7),
    ("f64", 3, 511, 6),
    ("f16", 5, 510, 7),
]


@pytest.mark.parametrize(("name", "first", "last", "limit"), CASES)
def test_every_mode_of_a_stencil(order: str, name: str, first: int, last: int, limit: int) -> None:
    """Primal and forward against NumPy; the reverse, as the transpose of what is linear."""
    step, x, y = _stencil(getattr(ti, name), 512, first, last)
    random, dtype = np.random.default_rng(5), np.dtype(name.replace("f", "float"))
    values, seed = (random.integers(-8, 8, (ROWS, 512)).astype(dtype) for _ in range(2))
    x.from_numpy(values)
    step(limit)
    expected = _expected(values.astype(np.float64), first, last, limit)
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=TOLERANCE[name])
    with ti.ad.FwdMode(loss=y, param=x, seed=values.ravel().tolist()):
        y.fill(0)
        step(limit)
    np.testing.assert_allclose(y.dual.to_numpy(), expected, rtol=TOLERANCE[name])
    y.grad.from_numpy(seed)
    step.grad(limit)
    adjoint = x.grad.to_numpy().astype(np.float64)
    assert (adjoint * values).sum() == (seed.astype(np.float64) * expected).sum()


def test_a_periodic_grid(order: str) -> None:
    """Neighbours around the ends of rows and columns, by both ways of writing a remainder."""
    count = 512
    x, y = (ti.field(ti.f32, (count, count), needs_grad=True) for _ in range(2))

    @ti.kernel
    def step():
        for i, j in x:
            around = x[(i + 1) % count, j] + 2.0 * x[(i - 1) % count, j]
            y[i, j] = around + 4.0 * x[i, (j + 1) % count] - x[i, (j - 1 + count) % count]

    values = np.random.default_rng(8).integers(-8, 8, (count, count)).astype(np.float32)
    x.from_numpy(values)
    step()
    left, right = np.roll(values, 1, axis=1), np.roll(values, -1, axis=1)
    expected = np.roll(values, -1, axis=0) + 2 * np.roll(values, 1, axis=0) + 4 * right - left
    np.testing.assert_array_equal(y.to_numpy(), expected)
    y.grad.from_numpy(values)
    step.grad()
    expected = np.roll(values, 1, axis=0) + 2 * np.roll(values, -1, axis=0) + 4 * left - right
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
    assert "alignment = 16" in step.ir(stage="memref")
    assert "alignment = 16" in step.ir(stage="memref", mode="reverse")


@pytest.mark.parametrize(("low", "high"), [(1, 1451), (2, 1450)])
def test_two_rows(order: str, low: int, high: int) -> None:
    """A grid so large that a thread takes two rows, of which the box has an odd or an even
    number."""
    x, y = (ti.field(ti.f32, (1452, 1456), needs_grad=True) for _ in range(2))

    @ti.kernel
    def step(t: ti.i32):
        for i, j in ti.ndrange((low, high), (1, 1455)):
            y[i, j] = 2.0 * x[i - 1, j] - x[i + 1, j] + x[i, j - 1] + t * x[i, j]

    random, inside = np.random.default_rng(11), slice(low, high)
    values, seed = (random.integers(-8, 8, x.shape).astype(np.float32) for _ in range(2))
    x.from_numpy(values)
    step(3)
    expected = np.zeros_like(values)
    expected[inside, 1:-1] = (
        2 * values[low - 1 : high - 1, 1:-1]
        - values[low + 1 : high + 1, 1:-1]
        + values[inside, :-2]
        + 3 * values[inside, 1:-1]
    )
    np.testing.assert_array_equal(y.to_numpy(), expected)
    y.grad.from_numpy(seed)
    step.grad(3)
    adjoint = x.grad.to_numpy().astype(np.float64)
    assert (adjoint * values).sum() == (seed.astype(np.float64) * expected).sum()
    for mode in ("primal", "reverse"):
        assert _wide_stores(step.ir(3, stage="memref", mode=mode)) >= 2


def _wide_stores(text: str) -> int:
    lines = [line for line in text.splitlines() if "alignment = 16" in line]
    return sum("store" in line for line in lines)


def test_a_rim_of_its_own(order: str) -> None:
    """A branch that is taken at the rim only, by equality, and what it alone writes."""
    count = 520
    x, y, z = (ti.field(ti.f32, (count, count)) for _ in range(3))

    @ti.kernel
    def step():
        for i, j in x:
            if i == 0 or j == 0 or i == count - 1 or j == count - 1:
                y[i, j] = -x[i, j]
                z[j, i] = 3.0
            else:
                y[i, j] = x[i, j - 1] + x[i, j + 1]

    values = np.random.default_rng(9).uniform(-1, 1, (count, count)).astype(np.float32)
    x.from_numpy(values)
    step()
    expected, rim = -values, np.full((count, count), 3.0)
    expected[1:-1, 1:-1] = values[1:-1, :-2] + values[1:-1, 2:]
    rim[1:-1, 1:-1] = 0
    np.testing.assert_array_equal(y.to_numpy(), expected)
    np.testing.assert_array_equal(z.to_numpy(), rim)
    assert "alignment = 16" in step.ir(stage="memref")


def test_a_chessboard(order: str) -> None:
    """What changes from one place to the next is left as it is."""
    x, y = (ti.field(ti.f32, (512, 512)) for _ in range(2))

    @ti.kernel
    def step():
        for i, j in x:
            if j % 2 == 0:
                y[i, j] = x[i, j]

    values = np.random.default_rng(10).uniform(-1, 1, (512, 512)).astype(np.float32)
    x.from_numpy(values)
    step()
    values[:, 1::2] = 0
    np.testing.assert_array_equal(y.to_numpy(), values)
    assert "alignment = 16" not in step.ir(stage="memref")


def test_rows_that_are_no_whole_vectors(order: str) -> None:
    """Rows that begin at no multiple of 16 bytes are left as they are."""
    step, x, y = _stencil(ti.f32, 513, 1, 512)
    values = np.random.default_rng(6).uniform(-1, 1, (ROWS, 513)).astype(np.float32)
    x.from_numpy(values)
    step(7)
    np.testing.assert_allclose(y.to_numpy(), _expected(values, 1, 512, 7), rtol=1e-5, atol=1e-6)
    assert "alignment = 16" not in step.ir(7, stage="memref")


def test_a_line(order: str) -> None:
    """One axis, and three steps in time kept in one array."""
    count = (1 << 18) + 12
    x = ti.field(ti.f32, (3, count))

    @ti.kernel
    def step(t: ti.i32):
        for i in range(1, count - 1):
            if i < count - 6:
                x[t, i] = x[t - 1, i - 1] + x[t - 1, i + 1] - x[t - 2, i]

    values = np.random.default_rng(7).uniform(-1, 1, (3, count)).astype(np.float32)
    x.from_numpy(values)
    assert "alignment = 16" in step.ir(2, stage="memref")
    step(2)
    expected = values[1, :-2] + values[1, 2:] - values[0, 1:-1]
    values[2, 1:-6] = expected[:-5]
    np.testing.assert_array_equal(x.to_numpy(), values)


def test_the_whole_of_16_bytes(order: str) -> None:
    """Of a box in the middle of rows, the 16 bytes are read and written at once."""
    step, *_ = _stencil(ti.f32, 512, 3, 511)
    assert "alignment = 16" in step.ir(7, stage="memref")
    ptx = step.ptx(7, chip="sm_90")
    assert len(re.findall(r"ld\.global(\.nc)?\.v4", ptx)) >= 3
    assert ptx.count("st.global.v4") == 1
