"""Heat in a disc that is active, with a source that grows with it, and the gradient by what it was
at first: both modes go over active elements."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

TIMES, LEAF = 8, 8


def build(ti: Any, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` x `size` cells, of which a fifth is active; a tape in one step, and a digest."""
    heat = [ti.field(ti.f32) for _ in range(TIMES + 1)]
    loss = ti.field(ti.f32, (), needs_grad=True)
    block = ti.root.pointer(ti.ij, size // LEAF).dense(ti.ij, LEAF)
    for one in heat:
        block.place(one)
    ti.root.lazy_grad()

    @ti.kernel
    def start():
        for i, j in ti.ndrange(size, size):
            x, y = i / size - 0.5, j / size - 0.5
            if x * x + y * y < 0.0625:
                for one in ti.static(heat):
                    one[i, j] = 0.1 + x * y

    @ti.kernel
    def spread(old: ti.template(), new: ti.template()):
        for i, j in old:
            around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
            new[i, j] = 0.6 * old[i, j] + 0.1 * around + 0.05 * old[i, j] * old[i, j]

    @ti.kernel
    def measure():
        for i, j in heat[TIMES]:
            loss[None] += heat[TIMES][i, j] * heat[TIMES][i, j]

    def step() -> None:
        with ti.ad.Tape(loss):
            for old, new in itertools.pairwise(heat):
                spread(old, new)
            measure()

    start()
    middle = size // 2
    return step, lambda: float(np.float64(heat[0].grad[middle, middle]))
