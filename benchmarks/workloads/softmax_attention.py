"""Attention of one head as plain loops: products of all pairs of rows, a softmax along each, and a
mean of values by its weights."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

WIDTH = 64


def build(ti: Any, size: int) -> Workload:
    """`size` rows."""
    query, key, value = (ti.field(ti.f32, (size, WIDTH), needs_grad=True) for _ in range(3))
    score, weight = (ti.field(ti.f32, (size, size), needs_grad=True) for _ in range(2))
    mean = ti.field(ti.f32, (size, WIDTH), needs_grad=True)
    wanted = ti.field(ti.f32, (size, WIDTH))
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(29)
    for array in (query, key, value, wanted):
        array.from_numpy(random.normal(0, 1, array.shape).astype(np.float32))

    @ti.kernel
    def compare():
        for i, j in ti.ndrange(size, size):
            total = 0.0
            for k in range(WIDTH):
                total += query[i, k] * key[j, k]
            score[i, j] = total * WIDTH**-0.5

    @ti.kernel
    def weigh():
        for i in range(size):
            most = score[i, 0]
            for j in range(size):
                most = ti.max(most, score[i, j])
            total = 0.0
            for j in range(size):
                total += ti.exp(score[i, j] - most)
            for j in range(size):
                weight[i, j] = ti.exp(score[i, j] - most) / total

    @ti.kernel
    def mix():
        for i, k in ti.ndrange(size, WIDTH):
            total = 0.0
            for j in range(size):
                total += weight[i, j] * value[j, k]
            mean[i, k] = total

    @ti.kernel
    def judge():
        for i, k in mean:
            miss = mean[i, k] - wanted[i, k]
            loss[None] += miss * miss / size

    def forward() -> None:
        compare()
        weigh()
        mix()
        judge()

    return Workload(forward, loss, [query, key, value])
