"""Pairs of particles closer than a radius, by lists of the particles in each cell of a grid."""

from collections.abc import Callable
from typing import Any

import numpy as np

ROOM = 64


def build(ti: Any, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` particles, about 8 in a cell; a step, and a digest."""
    cells = max(4, int((size / 8) ** 0.5))
    place, count, pairs = ti.Vector.field(2, ti.f32, size), ti.field(ti.i32, size), ti.field(ti.i32)
    ti.root.place(pairs)
    found = ti.field(ti.i32)
    lists = ti.root.dense(ti.ij, cells).dynamic(ti.k, ROOM, chunk_size=ROOM)
    lists.place(found)
    start = np.random.default_rng(5).uniform(0, cells, (size, 2)).astype(np.float32)
    place.from_numpy(np.minimum(start, np.float32(cells - 1e-3)))

    @ti.kernel
    def empty():
        for i, j in ti.ndrange(cells, cells):
            ti.deactivate(lists, [i, j])

    @ti.kernel
    def insert():
        for p in place:
            cell = ti.cast(place[p], ti.i32)
            ti.append(lists, cell, p)

    @ti.kernel
    def search():
        for p in place:
            cell = ti.cast(place[p], ti.i32)
            near = 0
            for i in range(ti.max(0, cell[0] - 1), ti.min(cells, cell[0] + 2)):
                for j in range(ti.max(0, cell[1] - 1), ti.min(cells, cell[1] + 2)):
                    for k in range(ti.length(lists, [i, j])):
                        other = found[i, j, k]
                        near += ti.cast((place[other] - place[p]).norm_sqr() < 1.0, ti.i32)
            count[p] = near

    def step() -> None:
        empty()
        insert()
        search()

    return step, lambda: float(count.to_numpy().sum())
