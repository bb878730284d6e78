"""Long kernels with many tangents, which are computed in several loops, beside one tangent at a
time: to the bit, as all numbers are small integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti

SIZE, COMPONENTS, STEPS = 7, 12, 2


def apart(x: Any, y: Any) -> Callable[[], None]:
    """Set an array from another."""

    @ti.kernel
    def step():
        for i in range(SIZE):
            for c in ti.static(range(COMPONENTS)):
                y[i][c] = x[i][c] * x[(i + 1) % SIZE][(c + 1) % COMPONENTS] - c * x[i][0]

    return step


def in_place(x: Any, y: Any) -> Callable[[], None]:
    """Overwrite what the loop loads."""

    @ti.kernel
    def step():
        for i in range(SIZE):
            old = x[i]
            for c in ti.static(range(COMPONENTS)):
                x[i][c] = old[c] * old[(c + 5) % COMPONENTS] - c * old[1]
            for c in ti.static(range(COMPONENTS)):
                y[i][c] += old[c] * (old[2] + c)

    return step


def loads_again(x: Any, y: Any) -> Callable[[], None]:
    """Load what the iteration has stored."""

    @ti.kernel
    def step():
        for i in range(SIZE):
            for c in ti.static(range(COMPONENTS)):
                y[i][c] = x[i][c] * x[i][(c + 1) % COMPONENTS] + c
            for c in ti.static(range(COMPONENTS)):
                x[i][c] = y[i][(c + 3) % COMPONENTS] - 2 * y[i][c] * x[i][0]

    return step


def sums(x: Any, y: Any) -> Callable[[], None]:
    """Add to elements that iterations share, and count."""

    @ti.kernel
    def step():
        for i in range(SIZE):
            for c in ti.static(range(COMPONENTS)):
                y[i // 2][c] += x[i][c] * x[i][(c + 7) % COMPONENTS] * (c - 4)
            y[0][0] += 1
            if x[i][3] > 0:
                y[i][1] += x[i][3] * x[i][4]

    return step


@pytest.mark.parametrize("directions", [8, 11])
@pytest.mark.parametrize("way", [apart, in_place, loads_again, sums])
def test_many_tangents(way: Callable[[Any, Any], Callable[[], None]], directions: int) -> None:
    x, y = (ti.Vector.field(COMPONENTS, ti.f64, SIZE, needs_dual=True) for _ in range(2))
    step = way(x, y)
    generator = np.random.default_rng(5)
    start = generator.integers(-2, 3, (2, SIZE, COMPONENTS)).astype(float)
    seeds = generator.integers(-2, 3, (directions, SIZE, COMPONENTS)).astype(float)

    def tangents(seed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x.from_numpy(start[0])
        y.from_numpy(start[1])
        with ti.ad.FwdMode([y], [x], [seed]) as forward:
            for _ in range(STEPS):
                step()
        return y.to_numpy(), forward.tangents(y)

    values, together = tangents(seeds)
    for number, seed in enumerate(seeds):
        own_values, own = tangents(seed)
        np.testing.assert_array_equal(own_values, values)
        np.testing.assert_array_equal(own[0], together[number])
    assert together.any()
