"""Densities and pressures of particles by lists of their neighbours, made anew at each step."""

from collections.abc import Callable
from typing import Any

import numpy as np

ROOM, NEIGHBOURS, STEP = 64, 128, 1e-3


def build(ti: Any, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` particles, about 8 in a cell; a step, and a digest."""
    cells = max(4, int((size / 8) ** 0.5))
    place, speed = ti.Vector.field(2, ti.f32, size), ti.Vector.field(2, ti.f32, size)
    density, found, near = ti.field(ti.f32, size), ti.field(ti.i32), ti.field(ti.i32)
    lists = ti.root.dense(ti.ij, cells).dynamic(ti.k, ROOM, chunk_size=ROOM)
    lists.place(found)
    neighbours = ti.root.dense(ti.i, size).dynamic(ti.j, NEIGHBOURS, chunk_size=32)
    neighbours.place(near)
    grid = np.stack(np.meshgrid(*[np.arange(int(size**0.5) + 1)] * 2), -1).reshape(-1, 2)[:size]
    start = (grid + 0.5) * (cells / (int(size**0.5) + 1))
    start += np.random.default_rng(7).uniform(-0.05, 0.05, start.shape)
    place.from_numpy(start.astype(np.float32))

    @ti.kernel
    def insert():
        for i, j in ti.ndrange(cells, cells):
            ti.deactivate(lists, [i, j])
        for p in place:
            ti.append(lists, ti.cast(place[p], ti.i32), p)

    @ti.kernel
    def look():
        for p in place:
            ti.deactivate(neighbours, [p])
            cell = ti.cast(place[p], ti.i32)
            for i in range(ti.max(0, cell[0] - 1), ti.min(cells, cell[0] + 2)):
                for j in range(ti.max(0, cell[1] - 1), ti.min(cells, cell[1] + 2)):
                    for k in range(ti.length(lists, [i, j])):
                        other = found[i, j, k]
                        if other != p and (place[other] - place[p]).norm_sqr() < 1.0:
                            ti.append(neighbours, [p], other)

    @ti.kernel
    def measure():
        for p in place:
            total = 0.0
            for k in range(ti.length(neighbours, [p])):
                away = (place[near[p, k]] - place[p]).norm()
                total += (1.0 - away) ** 3
            density[p] = total

    @ti.kernel
    def push():
        for p in place:
            force = ti.Vector([0.0, 0.0])
            for k in range(ti.length(neighbours, [p])):
                other = near[p, k]
                away = place[other] - place[p]
                distance = away.norm(1e-6)
                pressure = density[p] + density[other]
                force -= pressure * (1.0 - distance) ** 2 / distance * away
            speed[p] += STEP * force

    @ti.kernel
    def move():
        for p in place:
            place[p] = ti.max(0.01, ti.min(cells - 0.01, place[p] + STEP * speed[p]))

    def step() -> None:
        insert()
        look()
        measure()
        push()
        move()

    return step, lambda: float(density.to_numpy().astype(np.float64).mean())
