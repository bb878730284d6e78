"""Sums of whole loops on a GPU, by the threads that a CPU runs: their values, in any order of
threads, and of their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

ORDERS = ("ascending", "descending", "shuffled")


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    """A program on the machine, that runs threads in one of the orders."""
    ti.init(arch=ti.simt, simt_order=request.param)
    return str(request.param)


@pytest.mark.parametrize("n", [1, 33, 300_000])
def test_sums_minima_and_branches(order: str, n: int) -> None:
    """Several cells, of several kinds and arrays, updated in branches and inner loops."""
    x = ti.field(ti.f64, n, needs_grad=True)
    square, cells = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, 4)

    @ti.kernel
    def run():
        for i in x:
            square[None] += x[i] * x[i]
            ti.atomic_min(cells[0], x[i])
            ti.atomic_max(cells[1], x[i])
            if i % 3 == 0:
                cells[2] += x[i]
            for _ in range(i % 4):
                cells[3] -= x[i]

    v = np.random.default_rng(n).uniform(-1, 1, n)
    x.from_numpy(v)
    square[None] = 2.0
    run()
    expected = [min(0, v.min()), max(0, v.max()), v[::3].sum(), -(v * (np.arange(n) % 4)).sum()]
    np.testing.assert_allclose(square[None], 2 + v @ v, rtol=1e-12)
    np.testing.assert_allclose(cells.to_numpy(), expected, rtol=1e-12, atol=1e-12)
    square.grad[None] = 0.5
    run.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), v, rtol=1e-15)


def test_the_digits_of_a_long_sum_are_kept(order: str) -> None:
    """One after the other, ones come to 16,777,216 in 24 bits, and to 2,048 in 11."""
    total, half = ti.field(ti.f32, ()), ti.field(ti.f16, ())

    @ti.kernel
    def run(n: ti.i32, m: ti.i32):
        for _ in range(n):
            total[None] += 1.0
        for _ in range(m):
            half[None] += 1.0

    run(100_000_000, 60_000)
    assert total[None] == 100_000_000
    assert half[None] == 60_000


def test_every_run_gives_the_same_bits(order: str) -> None:
    """Terms are added in one order."""
    x, total = ti.field(ti.f32, (500, 600)), ti.field(ti.f32, ())

    @ti.kernel
    def run():
        total[None] = 0.0
        for i, j in x:
            total[None] += ti.sin(x[i, j]) * 1e3

    v = np.random.default_rng(0).normal(size=(500, 600)).astype(np.float32)
    x.from_numpy(v)
    found = set()
    for _ in range(3):
        run()
        found.add(total[None])
    assert len(found) == 1
    np.testing.assert_allclose(total[None], 1e3 * np.sin(v.astype(np.float64)).sum(), rtol=1e-5)


def test_bounds_in_memory_and_blocks_of_ones_own(order: str) -> None:
    """A loop that strides because its bounds are in memory; a block that is no whole warps."""
    n, total, boxes = ti.field(ti.i32, ()), ti.field(ti.i64, ()), ti.field(ti.i64, ())

    @ti.kernel
    def run(rows: ti.i32):
        for i in range(n[None]):
            total[None] += i
        ti.loop_config(block_dim=100)
        for i, j, k in ti.ndrange((2, rows), 17, (3, 20)):
            boxes[None] += i * 1000 + j * 100 + k

    n[None] = 200_000
    run(50)
    assert total[None] == 200_000 * 199_999 // 2
    assert boxes[None] == sum(
        i * 1000 + j * 100 + k for i in range(2, 50) for j in range(17) for k in range(3, 20)
    )
    run(0)  # no iteration
    assert total[None] == 200_000 * 199_999


@pytest.mark.parametrize("dtype", [ti.i8, ti.u16, ti.i64])
def test_integers_of_every_width(order: str, dtype: Any) -> None:
    """Sums and products wrap, minima know signs, masks keep every bit."""
    x, found = ti.field(dtype, 1000), ti.field(dtype, 7)
    updates = (
        (ti.atomic_add, np.add),
        (ti.atomic_mul, np.multiply),
        (ti.atomic_min, np.minimum),
        (ti.atomic_max, np.maximum),
        (ti.atomic_and, np.bitwise_and),
        (ti.atomic_or, np.bitwise_or),
        (ti.atomic_xor, np.bitwise_xor),
    )

    @ti.kernel
    def run():
        for i in x:
            for k in ti.static(range(len(updates))):
                updates[k][0](found[k], x[i])

    kind = x.to_numpy().dtype
    values = np.random.default_rng(3).integers(np.iinfo(kind).min, np.iinfo(kind).max, 1000, kind)
    x.from_numpy(values | kind.type(1))
    start = np.array([3, 1, 5, 5, -1 & int(np.iinfo(kind).max), 0, 9]).astype(kind)
    found.from_numpy(start)
    run()
    for k, (_, combine) in enumerate(updates):
        expected = combine(start[k], combine.reduce(values | kind.type(1), dtype=kind), dtype=kind)
        assert found.to_numpy()[k] == expected, updates[k][0]


def test_minima_of_infinities_and_of_what_is_no_number(order: str) -> None:
    """Infinities count; what is no number is no minimum, wherever it stands."""
    x, low, high = (ti.field(ti.f32, n) for n in ((400,), (), ()))

    @ti.kernel
    def run():
        for i in x:
            ti.atomic_min(low[None], x[i])
            ti.atomic_max(high[None], x[i])

    v = np.linspace(1, 2, 400, dtype=np.float32)
    v[[0, 57, 133, 399]] = np.nan
    x.from_numpy(v)
    low[None], high[None] = 10.0, 0.0
    run()
    assert (low[None], high[None]) == (np.nanmin(v), np.nanmax(v))
    x[20], x[21] = -np.inf, np.inf
    run()
    assert (low[None], high[None]) == (-np.inf, np.inf)


def test_sums_in_a_reverse(order: str) -> None:
    """The adjoint of what all iterations read is a sum of all of them."""
    x, y = ti.field(ti.f64, 5000, needs_grad=True), ti.field(ti.f64, 5000, needs_grad=True)
    factor = ti.Vector.field(2, ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            y[i] = factor[None][0] * x[i] + factor[None][1] * x[i] ** 2

    v = np.random.default_rng(0).normal(size=5000)
    x.from_numpy(v)
    y.grad.fill(2.0)
    run.grad()
    expected = [2 * v.sum(), 2 * (v**2).sum()]
    np.testing.assert_allclose(factor.grad.to_numpy(), expected, rtol=1e-12)


def test_what_inner_loops_add_to_one_element(order: str) -> None:
    """Springs between all pairs that are near: each adds to both of its ends, in a branch."""
    n = 60
    p, force = ti.field(ti.f64, n), ti.field(ti.f64, n)
    ends = ti.field(ti.i32, n)

    @ti.kernel
    def run(reach: ti.f64):
        for i in p:
            for j in range(n):
                if abs(p[i] - p[j]) < reach:
                    force[ends[i]] += p[j] - p[i]
                    force[ends[j]] -= p[j] - p[i]

    at = np.random.default_rng(2).uniform(size=n)
    to = np.random.default_rng(3).permutation(n).astype(np.int32)
    p.from_numpy(at)
    ends.from_numpy(to)
    run(0.3)
    apart = at[None, :] - at[:, None]
    near = np.where(abs(apart) < 0.3, apart, 0)
    expected = np.zeros(n)
    expected[to] = near.sum(1) - near.sum(0)
    np.testing.assert_allclose(force.to_numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(40, 40), (3, 5000), (5000, 3), (300, 200)])
def test_sums_of_rows_and_columns(order: str, shape: tuple[int, int]) -> None:
    """Along either axis, beside effects of every iteration; and their gradients."""
    a = ti.field(ti.f64, shape, needs_grad=True)
    rows, columns = (ti.field(ti.f64, n, needs_grad=True) for n in shape)
    most = ti.field(ti.f64, shape[0])

    @ti.kernel
    def sum_rows():
        for i, j in a:
            rows[i] += a[i, j] ** 2
            ti.atomic_max(most[i], a[i, j])

    @ti.kernel
    def sum_columns():
        for i, j in a:
            columns[j] += a[i, j]
            a[i, j] += 1.0

    v = np.random.default_rng(1).normal(size=shape)
    a.from_numpy(v)
    rows.fill(1.0)
    sum_rows()
    sum_columns()
    np.testing.assert_allclose(rows.to_numpy(), 1 + (v**2).sum(1), rtol=1e-12)
    np.testing.assert_array_equal(most.to_numpy(), np.maximum(0, v.max(1)))
    np.testing.assert_allclose(columns.to_numpy(), v.sum(0), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(a.to_numpy(), v + 1)
    rows.grad.from_numpy(np.arange(shape[0], dtype=float))
    sum_rows.grad()
    np.testing.assert_allclose(a.grad.to_numpy(), 2 * (v + 1) * np.arange(shape[0])[:, None])


def test_sums_along_extents_known_at_the_launch(order: str) -> None:
    """One kernel, for few rows and for many, short ones and long ones, and none."""

    matrix, vector = ti.types.ndarray(ndim=2), ti.types.ndarray(ndim=1)

    @ti.kernel
    def run(n: int, m: int, a: matrix, rows: vector, most: vector, columns: vector):
        for i, j in ti.ndrange(n, m):
            rows[i] += a[i, j] ** 2
            ti.atomic_max(most[i], a[i, j])
        for i, j in ti.ndrange(n, m):
            columns[j] += a[i, j]
            a[i, j] += 1.0

    shapes = [(1, 1), (3, 5000), (40, 40), (9000, 3), (1700, 33), (0, 5), (5, 0)]
    for n, m in shapes:
        extents = (max(n, 1), max(m, 1))
        a = ti.ndarray(ti.f64, extents)
        rows, most, columns = (ti.ndarray(ti.f64, extents[axis]) for axis in (0, 0, 1))
        given = np.random.default_rng(1).normal(size=extents)
        v = given[:n, :m]
        a.from_numpy(given)
        run(n, m, a, rows, most, columns)
        np.testing.assert_allclose(rows.to_numpy()[:n], (v**2).sum(1), rtol=1e-12)
        np.testing.assert_array_equal(most.to_numpy()[:n], v.max(1, initial=0))
        np.testing.assert_allclose(columns.to_numpy()[:m], v.sum(0), rtol=1e-11, atol=1e-12)
        np.testing.assert_array_equal(a.to_numpy()[:n, :m], v + 1)
    assert "atomic" not in str(run.ir(n, m, a, rows, most, columns, stage="memref"))


def test_gradients_that_are_sums_along_open_extents(order: str) -> None:
    a, x = (ti.ndarray(ti.f64, n, needs_grad=True) for n in ((37, 91), 91))
    y, loss = (ti.ndarray(ti.f64, n, needs_grad=True) for n in (37, 1))

    @ti.kernel
    def product(a: ti.types.ndarray(), x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i, j in a:
            y[i] += a[i, j] * ti.sin(x[j])

    @ti.kernel
    def measure(y: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in y:
            loss[0] += y[i] ** 2

    v, w = np.random.default_rng(1).normal(size=(37, 91)), np.linspace(0, 1, 91)
    a.from_numpy(v)
    x.from_numpy(w)
    with ti.ad.Tape(loss):
        product(a, x, y)
        measure(y, loss)
    adjoint = 2 * v @ np.sin(w)
    np.testing.assert_allclose(a.grad.to_numpy(), np.outer(adjoint, np.sin(w)), rtol=1e-10)
    np.testing.assert_allclose(x.grad.to_numpy(), adjoint @ v * np.cos(w), rtol=1e-10)


def test_sums_of_planes_and_of_what_rows_read(order: str) -> None:
    """Of three axes one or two are summed; the adjoint of a row's factor is a sum of the row."""
    x = ti.field(ti.f64, (6, 7, 50), needs_grad=True)
    y = ti.field(ti.f64, (6, 7, 50), needs_grad=True)
    middle, factor = ti.field(ti.f64, (6, 50)), ti.field(ti.f64, 7, needs_grad=True)

    @ti.kernel
    def run():
        for i, j, k in x:
            middle[i, k] += x[i, j, k]
        for i, j, k in x:
            y[i, j, k] = factor[j] * x[i, j, k]

    v = np.random.default_rng(1).normal(size=(6, 7, 50))
    x.from_numpy(v)
    run()
    np.testing.assert_allclose(middle.to_numpy(), v.sum(1), atol=1e-13)
    y.grad.fill(3.0)
    run.grad()
    np.testing.assert_allclose(factor.grad.to_numpy(), 3 * v.sum((0, 2)), rtol=1e-12)


def test_few_bins_that_all_threads_update(order: str) -> None:
    """Copies for every thread, beside a sum of the whole loop, and without: the same every time."""
    n = 600_000
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)
    bins, most, total = ti.field(ti.f32, (2, 2)), ti.field(ti.i16, 3), ti.field(ti.f64, ())

    @ti.kernel
    def run(m: ti.i32):
        for i in x:
            bins[i % 2, ti.i32(x[i] * 2)] += y[i]
        for i in range(m):  # known at the launch
            for k in range(4):
                if i % 4 == k:
                    ti.atomic_max(most[k % 3], ti.i16(i % 30_011))
            total[None] += y[i]

    random = np.random.default_rng(5)
    v, w = random.uniform(size=n).astype(np.float32), random.normal(size=n).astype(np.float32)
    x.from_numpy(v)
    y.from_numpy(w)
    first = None
    for _ in range(2):
        bins.fill(1.0)
        run(n)
        first = bins.to_numpy() if first is None else first
        np.testing.assert_array_equal(bins.to_numpy(), first)
    number = np.arange(n) % 2 * 2 + (v * np.float32(2)).astype(int)
    expected = 1 + np.bincount(number, w.astype(float), 4)
    np.testing.assert_allclose(first.reshape(-1), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(total[None], 2 * w.astype(float).sum(), rtol=1e-9)
    i = np.arange(n)
    wanted = [max((i % 30_011)[i % 4 % 3 == k]) for k in range(3)]
    np.testing.assert_array_equal(most.to_numpy(), wanted)


@pytest.mark.parametrize("order", ["descending"], indirect=True)
def test_more_sums_than_registers(order: str) -> None:
    """The loop runs several times; one that also changes what it reads does not."""
    n, count = 1000, 70
    x, sums, least = ti.field(ti.f64, n), ti.field(ti.f64, count), ti.field(ti.i32, count)

    @ti.kernel
    def only():
        for i in x:
            for k in ti.static(range(count)):
                sums[k] += x[i] * (k + 1)
                ti.atomic_min(least[k], i - k)

    @ti.kernel
    def also():
        for i in x:
            x[i] *= 2.0
            for k in ti.static(range(count)):
                sums[k] += x[i] * (k + 1)

    v = np.random.default_rng(3).uniform(0, 1, n)
    x.from_numpy(v)
    only()
    number = np.arange(count)
    np.testing.assert_allclose(sums.to_numpy(), v.sum() * (number + 1), rtol=1e-12)
    np.testing.assert_array_equal(least.to_numpy(), -number)
    also()
    np.testing.assert_allclose(sums.to_numpy(), 3 * v.sum() * (number + 1), rtol=1e-12)
    np.testing.assert_allclose(x.to_numpy(), 2 * v)


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
@pytest.mark.parametrize("inputs, hidden", [(7, 5), (1, 40), (33, 2)])
def test_weights_that_open_rows_read(order: str, dtype: Any, inputs: int, hidden: int) -> None:
    """The adjoint of a weight is a sum over rows, of which the launch knows how many there are;
    what each of them needs is kept."""

    @ti.kernel
    def layer(w: ti.types.ndarray(), x: ti.types.ndarray(), y: ti.types.ndarray()):
        for r, h in ti.ndrange(x.shape[0], w.shape[0]):
            total = x[r, 0] * 0.0
            for k in range(w.shape[1]):
                total += w[h, k] * x[r, k]
            y[r, h] = ti.tanh(total)

    @ti.kernel
    def rows(n: int, w: ti.types.ndarray(), x: ti.types.ndarray(), y: ti.types.ndarray()):
        for r, h in ti.ndrange((1, n), w.shape[0]):
            total = x[r, 0] * 0.0
            for k in range(inputs):
                total += w[h, k] * x[r, k]
            y[r, h] = ti.sin(total)

    @ti.kernel
    def measure(y: ti.types.ndarray(), loss: ti.types.ndarray()):
        for r, h in y:
            loss[0] += y[r, h] * (1 + r % 3)

    random = np.random.default_rng(inputs)
    for n in (0, 1, 2, 9, 300, 4001):
        w = ti.ndarray(dtype, (hidden, inputs), needs_grad=True)
        x = ti.ndarray(dtype, (max(n, 1), inputs), needs_grad=True)
        y = ti.ndarray(dtype, (max(n, 1), hidden), needs_grad=True)
        loss = ti.ndarray(dtype, 1, needs_grad=True)
        u, v = random.normal(size=(hidden, inputs)), random.normal(size=(max(n, 1), inputs))
        w.from_numpy(u.astype(w.to_numpy().dtype))
        x.from_numpy(v.astype(x.to_numpy().dtype))
        weight = 1 + np.arange(max(n, 1))[:, None] % 3
        for kernel, before in ((layer, None), (rows, 1)):
            with ti.ad.Tape(loss):
                kernel(w, x, y) if before is None else kernel(n, w, x, y)
                measure(y, loss)
            total = v @ u.T
            slope = weight * (1 - np.tanh(total) ** 2 if before is None else np.cos(total))
            slope[:before] = slope[:before] if before is None else 0
            slope[n:] = slope[n:] if before is None else 0
            tolerance = 1e-10 if dtype is ti.f64 else 2e-4
            np.testing.assert_allclose(
                w.grad.to_numpy(), slope.T @ v, rtol=tolerance, atol=tolerance * max(n, 1)
            )
            np.testing.assert_allclose(
                x.grad.to_numpy(), slope @ u, rtol=tolerance, atol=30 * tolerance
            )
    assert "atomic" not in str(layer.ir(w, x, y, stage="memref", mode="reverse"))
