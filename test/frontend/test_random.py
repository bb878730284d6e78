"""Random draws: uniform, independent, the same for the same seed and any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(cpu_max_num_threads=2, fast_math=False)
    yield
    ti.reset()


def draws(n: int) -> np.ndarray:
    x = ti.field(ti.f64, shape=n)

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.random(ti.f64)

    run()
    first = x.to_numpy()
    run()
    assert (first != x.to_numpy()).all()
    return first


def test_random_draws_are_uniform_independent_and_reproducible() -> None:
    n = 100_000
    ti.init(random_seed=5, cpu_max_num_threads=1)
    first = draws(n)
    ti.init(random_seed=5, cpu_max_num_threads=2)
    np.testing.assert_array_equal(draws(n), first)
    ti.init(random_seed=6)
    assert (draws(n) != first).mean() > 0.99
    assert first.min() >= 0 and first.max() < 1
    assert abs(first.mean() - 0.5) < 5 / np.sqrt(12 * n)
    counts = np.histogram(first, 50, (0, 1))[0]
    assert ((counts - n / 50) ** 2 / (n / 50)).sum() < 49 + 5 * np.sqrt(98)
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 5 / np.sqrt(n)


def test_random_integers_and_normal_draws() -> None:
    n = 40_000
    bits, normal = ti.field(ti.i32, shape=n), ti.field(ti.f64, shape=n)

    @ti.kernel
    def run():
        for i in range(n):
            bits[i] = ti.random(ti.i32)
            normal[i] = ti.randn(ti.f64)

    run()
    ones = np.unpackbits(bits.to_numpy().view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(32 * n)
    assert abs(normal.to_numpy().mean()) < 5 / np.sqrt(n)
    assert abs(normal.to_numpy().std() - 1) < 5 / np.sqrt(2 * n)
