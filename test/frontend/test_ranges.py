"""`range` in kernels: every step, known while compiling or not, in every place, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from gradients import check, scalar, variable

import mlirad as ti

LEAST, MOST = -(1 << 31), (1 << 31) - 1
BOUNDS = [(0, 8), (8, 0), (-5, 5), (3, 3), (0, MOST), (MOST, LEAST)]
STEPS = [1, 2, 3, -1, -2, 1_000_000_000, -1_000_000_000, MOST, LEAST]
CASES = [(a, b, s) for (a, b), s in product(BOUNDS, STEPS) if len(range(a, b, s)) < 100]
ENOUGH = 10**6


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(default_fp=ti.f64)


def folded(indices: Any, limit: int | None = None) -> int:
    """A number that tells sequences of indices apart, as 64 bits hold it."""
    total = 0
    for index in indices:
        if limit is not None and total > limit:
            break
        total = (total * 3 + index + (1 << 63)) % (1 << 64) - (1 << 63)
    return total


@ti.kernel
def outermost(low: ti.i32, high: ti.i32, step: ti.i32) -> ti.i64:
    total = ti.i64(0)
    for i in range(low, high, step):
        total = total * 3 + i
    return total


@ti.kernel
def inner(low: ti.i32, high: ti.i32, step: ti.i32) -> ti.i64:
    total = ti.i64(0)
    for _ in range(1):
        for i in range(low, high, step):
            total = total * 3 + i
    return total


@ti.kernel
def left_early(low: ti.i32, high: ti.i32, step: ti.i32) -> ti.i64:
    total = ti.i64(0)
    for _ in range(1):
        for i in range(low, high, step):
            if total > ENOUGH:
                break
            total = total * 3 + i
    return total


@ti.kernel
def wide(low: ti.i64, high: ti.i64, step: ti.i64) -> ti.i64:
    total = ti.i64(0)
    for i in range(low, high, step):
        total = total * 3 + i
    return total


@pytest.mark.parametrize("kernel", [outermost, inner, left_early, wide], ids=lambda k: k.__name__)
def test_steps_known_at_run_time(kernel: Callable[..., int]) -> None:
    limit = ENOUGH if kernel is left_early else None
    for low, high, step in CASES:
        assert kernel(low, high, step) == folded(range(low, high, step), limit), (low, high, step)


@pytest.mark.parametrize("step", [1, 2, -1, -3, 1_000_000_000, LEAST])
def test_steps_known_while_compiling(step: int) -> None:
    for low, high in [(a, b) for a, b, s in CASES if s == step] or [(0, 8), (8, 0)]:

        @ti.kernel
        def run() -> ti.types.vector(4, ti.i64):
            a = b = c = d = ti.i64(0)
            ti.loop_config(serialize=True)  # which one with steps of 1 is not
            for i in range(low, high, step):  # noqa: B023 - compiled at once
                a = a * 3 + i
            for _ in range(1):
                for i in range(low, high, step):  # noqa: B023
                    b = b * 3 + i
                for i in range(low, high, step):  # noqa: B023
                    if c > ENOUGH:
                        break
                    c = c * 3 + i
                for i in ti.static(range(low, high, step)):  # noqa: B023
                    d = d * 3 + i
            return ti.Vector([a, b, c, d])

        indices = range(low, high, step)
        plain = folded(indices)
        assert run().to_list() == [plain, plain, folded(indices, ENOUGH), plain]


def test_bounds_beyond_the_default_type() -> None:
    @ti.kernel
    def run() -> ti.i64:
        total = ti.i64(0)
        for i in range(1 << 33, (1 << 33) + 3):
            total += i
        return total

    assert run() == 3 * (1 << 33) + 3


def test_a_step_of_zero_makes_no_iteration() -> None:
    for kernel, (low, high) in product((outermost, inner, left_early, wide), ((0, 8), (8, 0))):
        assert kernel(low, high, 0) == 0


@pytest.mark.parametrize("kernel", [outermost, inner, left_early], ids=lambda k: k.__name__)
def test_a_step_of_zero_is_reported(kernel: Callable[..., int]) -> None:
    ti.init(debug=True)
    assert kernel(0, 8, 3) == folded(range(0, 8, 3))
    with pytest.raises(ti.TaichiAssertionError, match="the step of a range is 0") as caught:
        kernel(0, 8, 0)
    assert "for i in range(low, high, step)" in str(caught.value)


def test_a_step_of_zero_is_refused() -> None:
    @ti.kernel
    def plain() -> ti.i32:
        total = 0
        for i in range(0, 8, 0):  # here
            total += i
        return total

    @ti.kernel
    def unrolled() -> ti.i32:
        total = 0
        for i in ti.static(range(0, 8, 0)):  # here
            total += i
        return total

    for kernel in (plain, unrolled):
        with pytest.raises(ti.TaichiSyntaxError, match="the step of this range is 0") as caught:
            kernel()
        assert "# here" in str(caught.value)


@pytest.mark.parametrize("place", ["outermost", "inner", "left_early"])
@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_derivatives(place: str, step: int) -> None:
    x, y, loss = variable(8), variable(8), scalar()
    low, high = (1, 8) if step > 0 else (6, -1)

    @ti.kernel
    def run(low: ti.i32, high: ti.i32, step: ti.i32):
        if ti.static(place == "outermost"):
            for i in range(low, high, step):
                y[i] = y[i] * x[i] + ti.sin(y[i - 1 if i else 7])
        else:
            for _ in range(1):
                for i in range(low, high, step):
                    if ti.static(place == "left_early") and y[i] > 1.2:
                        break
                    y[i] = y[i] * x[i] + ti.sin(y[i - 1 if i else 7])
        for i in y:
            loss[None] += y[i] ** 2

    check(lambda: run(low, high, step), [x, y], loss)
