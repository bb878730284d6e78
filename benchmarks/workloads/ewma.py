"""Exponentially weighted moving averages: a serial recursion along every row."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

COLUMNS, WEIGHT = 256, 0.08


def build(ti: Any, size: int) -> Workload:
    """`size` rows."""
    sample = ti.field(ti.f32, (size, COLUMNS), needs_grad=True)
    mean = ti.field(ti.f32, (size, COLUMNS), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    walk = np.random.default_rng(13).normal(0, 0.2, (size, COLUMNS)).cumsum(axis=1)
    sample.from_numpy(walk.astype(np.float32))

    @ti.kernel
    def smooth():
        for r in range(size):
            for c in range(COLUMNS):
                if c == 0:
                    mean[r, c] = sample[r, c]
                else:
                    mean[r, c] = WEIGHT * sample[r, c] + (1.0 - WEIGHT) * mean[r, c - 1]

    @ti.kernel
    def spread():
        for r, c in sample:
            away = sample[r, c] - mean[r, c]
            loss[None] += away * away / size

    def forward() -> None:
        smooth()
        spread()

    return Workload(forward, loss, [sample])
