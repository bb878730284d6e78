"""A fluid on a periodic grid by the lattice Boltzmann method (nine velocities, one relaxation
time): momentum after some steps, by its initial velocities."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

STEPS, RELAXATION = 16, 1.2
ALONG = (0, 1, 0, -1, 0, 1, -1, -1, 1)
ACROSS = (0, 0, 1, 0, -1, 1, 1, -1, -1)
WEIGHT = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """A grid of `size` by `size` cells."""
    density = ti.Vector.field(9, ti.f32, (steps + 1, size, size), needs_grad=True)
    along, across = (ti.field(ti.f32, (size, size), needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(53)
    for array in (along, across):
        array.from_numpy(random.normal(0, 0.05, (size, size)).astype(np.float32))

    @ti.func
    def at_rest(q: ti.template(), mass, u, v):
        speed = ALONG[q] * u + ACROSS[q] * v
        return WEIGHT[q] * mass * (1 + 3 * speed + 4.5 * speed * speed - 1.5 * (u * u + v * v))

    @ti.kernel
    def start():
        for i, j in along:
            for q in ti.static(range(9)):
                density[0, i, j][q] = at_rest(q, 1.0, along[i, j], across[i, j])

    @ti.kernel
    def step(t: ti.i32):
        for i, j in along:
            came = ti.Vector([0.0] * 9)
            mass, u, v = 0.0, 0.0, 0.0
            for q in ti.static(range(9)):
                x, y = (i - ALONG[q] + size) % size, (j - ACROSS[q] + size) % size
                came[q] = density[t, x, y][q]
                mass += came[q]
                u += ALONG[q] * came[q]
                v += ACROSS[q] * came[q]
            for q in ti.static(range(9)):
                rest = at_rest(q, mass, u / mass, v / mass)
                density[t + 1, i, j][q] = came[q] + RELAXATION * (rest - came[q])

    @ti.kernel
    def momentum():
        for i, j in along:
            u = 0.0
            for q in ti.static(range(9)):
                u += ALONG[q] * density[steps, i, j][q]
            loss[None] += u * u

    def forward() -> None:
        start()
        for t in range(steps):
            step(t)
        momentum()

    return Workload(forward, loss, [along, across])
