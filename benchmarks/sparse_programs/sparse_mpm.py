"""A falling block by the material point method on a sparse grid, which is given up at each step."""

from collections.abc import Callable
from typing import Any

import numpy as np

CELLS, STEP, STIFFNESS = 512, 1e-4, 400.0
BLOCK, LEAF = 16, 4


def build(ti: Any, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` particles; a step, and a digest."""
    width, volume = 1.0 / CELLS, 0.04 / size
    place = ti.Vector.field(2, ti.f32, size)
    speed = ti.Vector.field(2, ti.f32, size)
    shear = ti.Matrix.field(2, 2, ti.f32, size)
    swell = ti.field(ti.f32, size)
    momentum, mass = ti.Vector.field(2, ti.f32), ti.field(ti.f32)
    top = ti.root.pointer(ti.ij, CELLS // (BLOCK * LEAF))
    leaf = top.pointer(ti.ij, BLOCK).dense(ti.ij, LEAF)
    leaf.place(mass)
    leaf.place(momentum)
    start = np.random.default_rng(3).uniform((0.4, 0.3), (0.6, 0.5), (size, 2))
    place.from_numpy(start.astype(np.float32))
    swell.fill(1.0)

    @ti.kernel
    def scatter():
        for p in place:
            scaled = place[p] * CELLS
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = [
                0.5 * (1.5 - inside) ** 2,
                0.75 - (inside - 1.0) ** 2,
                0.5 * (inside - 0.5) ** 2,
            ]
            pressure = -STEP * volume * STIFFNESS * 4.0 * CELLS * CELLS * (swell[p] - 1.0)
            affine = ti.Matrix([[pressure, 0.0], [0.0, pressure]]) + volume * shear[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                away = (ti.Vector([i, j]) - inside) * width
                weight = weights[i][0] * weights[j][1]
                momentum[base + ti.Vector([i, j])] += weight * (volume * speed[p] + affine @ away)
                mass[base + ti.Vector([i, j])] += weight * volume

    @ti.kernel
    def advance():
        for i, j in mass:
            if mass[i, j] > 0:
                momentum[i, j] = momentum[i, j] / mass[i, j]
                momentum[i, j][1] -= STEP * 9.8
                if i < 3 and momentum[i, j][0] < 0:
                    momentum[i, j][0] = 0
                if i > CELLS - 3 and momentum[i, j][0] > 0:
                    momentum[i, j][0] = 0
                if j < 3 and momentum[i, j][1] < 0:
                    momentum[i, j][1] = 0

    @ti.kernel
    def gather():
        for p in place:
            scaled = place[p] * CELLS
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = [
                0.5 * (1.5 - inside) ** 2,
                0.75 - (inside - 1.0) ** 2,
                0.5 * (inside - 0.5) ** 2,
            ]
            moved = ti.Vector([0.0, 0.0])
            turned = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                away = ti.Vector([i, j]) - inside
                found = momentum[base + ti.Vector([i, j])]
                weight = weights[i][0] * weights[j][1]
                moved += weight * found
                turned += 4.0 * CELLS * weight * found.outer_product(away)
            speed[p] = moved
            shear[p] = turned
            place[p] += STEP * moved
            swell[p] *= 1.0 + STEP * turned.trace()

    def step() -> None:
        top.deactivate_all()
        scatter()
        advance()
        gather()

    return step, lambda: float(place.to_numpy().astype(np.float64).mean(0)[1])
