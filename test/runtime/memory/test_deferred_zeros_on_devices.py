"""Zeros for large derivatives on a device: nobody writes them where a launch begins at 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.program import program

ODD = 200_003
EVEN = 1 << 19  # iterations that threads take 4 or 2 at a time


@pytest.fixture(params=("ascending", "descending", "shuffled"), autouse=True)
def order(request: pytest.FixtureRequest) -> None:
    ti.init(arch=ti.simt, simt_order=request.param)


@pytest.fixture
def cleared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each request to clear."""
    sizes: list[int] = []
    clear = Transfers.clear

    def note(self: Transfers, address: int, size: int) -> None:
        sizes.append(size)
        clear(self, address, size)

    monkeypatch.setattr(Transfers, "clear", note)
    return sizes


class Sum:
    """`loss` is the sum of `(x + y)²`; `some` adds elements of `x` up to a number."""

    def __init__(self, dtype: Any, n: int) -> None:
        self.x, self.y = (ti.field(dtype, n, needs_grad=True) for _ in range(2))
        self.loss = ti.field(dtype, (), needs_grad=True)
        self.values = [np.random.default_rng(k).integers(-4, 4, n) / 4 for k in (1, 2)]
        for field, values in zip((self.x, self.y), self.values):
            field.from_numpy(values.astype(field.to_numpy().dtype))
        x, y, loss = self.x, self.y, self.loss

        @ti.kernel
        def every():
            for i in x:
                loss[None] += (x[i] + y[i]) ** 2

        @ti.kernel
        def some(count: int):
            for i in range(count):
                loss[None] += x[i]

        self.every, self.some = every, some

    def check(self, times: float, ones: int) -> None:
        expected = times * 2 * sum(self.values)
        np.testing.assert_array_equal(self.y.grad.to_numpy(), expected)
        expected[:ones] += 1
        np.testing.assert_array_equal(self.x.grad.to_numpy(), expected)


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64])
@pytest.mark.parametrize("n", [ODD, EVEN])
def test_sums_begin_at_zero(dtype: Any, n: int, cleared: list[int]) -> None:
    sums = Sum(dtype, n)
    for _ in range(3):
        cleared.clear()
        with ti.ad.Tape(sums.loss):
            sums.every()
        assert max(cleared, default=0) < 64
        sums.check(1, 0)


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_launches_that_add_to_what_is_there(dtype: Any, cleared: list[int]) -> None:
    """The second launch over all elements, and the first over some."""
    sums = Sum(dtype, ODD)
    with ti.ad.Tape(sums.loss):
        sums.every()
        sums.every()
    sums.check(2, 0)
    with ti.ad.Tape(sums.loss):
        sums.some(5)
        sums.every()
    sums.check(1, 5)
    cleared.clear()
    with ti.ad.Tape(sums.loss):
        sums.every()
        sums.some(5)  # which is reversed first
    sums.check(1, 5)
    assert cleared.count(sums.x.grad.to_numpy().nbytes) == 1
    with ti.ad.Tape(sums.loss, clear_gradients=False):
        sums.every()
    sums.check(2, 5)


def test_what_python_does_in_between(cleared: list[int]) -> None:
    sums = Sum(ti.f64, ODD)
    with ti.ad.Tape(sums.loss):
        sums.every()
        sums.x.grad[3] = 0.5  # the seed of what is behind
    expected = 2 * sum(sums.values)
    expected[3] += 0.5
    np.testing.assert_array_equal(sums.x.grad.to_numpy(), expected)
    ti.ad.clear_all_gradients()
    sums.x.grad.fill(2.0)  # all of it: nothing is cleared before
    sums.loss.grad[None] = 1.0
    sums.every.grad()
    np.testing.assert_array_equal(sums.x.grad.to_numpy(), 2 + 2 * sum(sums.values))
    assert not program().backlog.arrays


def test_vectors_gathers_and_rows() -> None:
    """Elements of several components, of a stencil, and of rows whose ends others reach."""
    n = 300
    u = ti.Vector.field(3, ti.f32, (n, n), needs_grad=True)
    v = ti.field(ti.f32, (n, n), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def add_up():
        for i, j in v:
            around = v[i, j] * 2.0
            if i > 0:
                around += v[i - 1, j]
            if j < n - 1:
                around += v[i, j + 1]
            loss[None] += around * (u[i, j][0] - 2.0 * u[i, j][1] + u[i, j][2])

    random = np.random.default_rng(3)
    w, p = random.integers(-2, 3, (n, n, 3)), random.integers(-2, 3, (n, n))
    u.from_numpy(w.astype(np.float32))
    v.from_numpy(p.astype(np.float32))
    around = 2 * p
    around[1:] += p[:-1]
    around[:, :-1] += p[:, 1:]
    weight = w @ [1, -2, 1]
    expected = 2 * weight
    expected[:-1] += weight[1:]
    expected[:, 1:] += weight[:, :-1]
    for _ in range(2):
        with ti.ad.Tape(loss):
            add_up()
        np.testing.assert_array_equal(v.grad.to_numpy(), expected)
        np.testing.assert_array_equal(u.grad.to_numpy(), around[..., None] * [1, -2, 1])
