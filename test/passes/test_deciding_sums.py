"""Sums over loops that decisions are made of: in lanes, the same in every mode, whatever else the
loop holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

ROWS = 64


@pytest.fixture(params=["f32", "f64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return getattr(ti, request.param)


def cancelling(count: int) -> np.ndarray[Any, Any]:
    """Rows of numbers that add up to about nothing: their sign is a matter of how the sum is
    rounded."""
    random = np.random.default_rng(count)
    half = random.uniform(0.1, 1.0, (ROWS, (count + 1) // 2))
    rows = np.concatenate([half, -half[:, : count // 2]], axis=1)
    if count % 2:
        rows[:, count // 2] = 0.0
    return random.permuted(rows, axis=1)


@pytest.mark.parametrize("count", [17, 31, 64, 100, 333])
@pytest.mark.parametrize("threads", [1, 2])
def test_rectified_sums(count: int, threads: int, dtype: Any) -> None:
    """A unit that is on in the primal is on in its gradient, and only such a one."""
    ti.init(default_fp=dtype, cpu_max_num_threads=threads)
    x, scale = (
        ti.field(float, (ROWS, count), needs_grad=True),
        ti.field(float, count, needs_grad=True),
    )
    y, loss = ti.field(float, ROWS, needs_grad=True), ti.field(float, (), needs_grad=True)

    @ti.kernel
    def rectify():
        for i in y:
            total = 0.0
            for k in range(count):
                total += x[i, k] * scale[k]
            y[i] = ti.max(total, 0.0)

    @ti.kernel
    def add():
        for i in y:
            loss[None] += 2.0 * y[i]

    x.from_numpy(cancelling(count))
    scale.fill(1.0 / 3.0)
    with ti.ad.Tape(loss):
        rectify()
        add()
    on = y.to_numpy() > 0
    assert 0 < on.sum() < ROWS
    expected = np.where(on, 2.0 / 3.0, 0.0)[:, None].repeat(count, 1)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(
        y.to_numpy(),
        np.maximum(x.to_numpy().sum(1) / 3.0, 0),
        atol=1e-5 if dtype is ti.f32 else 1e-13,
    )
    with ti.ad.FwdMode(loss, x, seed=np.ones((ROWS, count))):
        rectify()
        add()
    np.testing.assert_allclose(loss.dual[None], on.sum() * count * 2.0 / 3.0, rtol=1e-5)


@pytest.mark.parametrize("count", [40, 77])
def test_loops_that_hold_more_in_one_mode_than_in_another(count: int, dtype: Any) -> None:
    """The reverse computes only one of the sums again, by strides, and between branches."""
    ti.init(default_fp=dtype, cpu_max_num_threads=1)
    x, w = (
        ti.field(float, (ROWS, 2 * count), needs_grad=True),
        ti.field(float, ROWS, needs_grad=True),
    )
    other, loss = ti.field(float, ROWS), ti.field(float, (), needs_grad=True)

    @ti.kernel
    def run():
        for i in w:
            total, product, most = 0.5, 1.0, 0.0
            for k in range(count):
                total += x[i, 2 * k]
                product *= 1.0 + 0.01 * x[i, k]
                if x[i, k] > most:
                    most = x[i, k]
            other[i] = product + most
            if total >= 0.5:
                loss[None] += w[i] * total

    values = np.zeros((ROWS, 2 * count))
    values[:, ::2] = cancelling(count)
    x.from_numpy(values)
    w.fill(1.0)
    with ti.ad.Tape(loss):
        run()
    chosen = w.grad.to_numpy() != 0
    assert 0 < chosen.sum() < ROWS
    np.testing.assert_allclose(loss[None], 0.5 * chosen.sum(), rtol=1e-5)
    expected = np.zeros((ROWS, 2 * count))
    expected[chosen, ::2] = 1.0
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
