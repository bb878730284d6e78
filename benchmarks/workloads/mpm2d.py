"""A falling block of liquid by the material point method: particles to a grid and back, 9
neighbours, all unrolled."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

STEPS, STEP, STIFFNESS, GRAVITY, WALL = 50, 2e-4, 400.0, 9.8, 3


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """`size` particles."""
    cells = 128 if size > 4_000 else 64
    width = 1.0 / cells
    volume = 0.16 / size
    place = ti.Vector.field(2, ti.f32, (steps + 1, size), needs_grad=True)
    speed = ti.Vector.field(2, ti.f32, (steps + 1, size), needs_grad=True)
    shear = ti.Matrix.field(2, 2, ti.f32, (steps + 1, size), needs_grad=True)
    swell = ti.field(ti.f32, (steps + 1, size), needs_grad=True)
    grid_mass = ti.field(ti.f32, (steps, cells, cells), needs_grad=True)
    grid_momentum = ti.Vector.field(2, ti.f32, (steps, cells, cells), needs_grad=True)
    grid_speed = ti.Vector.field(2, ti.f32, (steps, cells, cells), needs_grad=True)
    drop = ti.Vector.field(2, ti.f32, size)
    throw = ti.Vector.field(2, ti.f32, size, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(29)
    drop.from_numpy(random.uniform((0.2, 0.1), (0.6, 0.5), (size, 2)).astype(np.float32))
    throw.from_numpy(random.normal((2.0, -3.0), 0.2, (size, 2)).astype(np.float32))

    @ti.kernel
    def begin():
        for p in range(size):
            place[0, p] = drop[p]
            speed[0, p] = throw[p]
            shear[0, p] = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            swell[0, p] = 1.0

    @ti.kernel
    def scatter(t: int):
        for p in range(size):
            scaled = place[t, p] * cells
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = [
                0.5 * (1.5 - inside) ** 2,
                0.75 - (inside - 1.0) ** 2,
                0.5 * (inside - 0.5) ** 2,
            ]
            pressure = -STEP * volume * STIFFNESS * 4.0 * cells * cells * (swell[t, p] - 1.0)
            affine = ti.Matrix([[pressure, 0.0], [0.0, pressure]]) + volume * shear[t, p]
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    away = (ti.Vector([i * 1.0, j * 1.0]) - inside) * width
                    weight = weights[i][0] * weights[j][1]
                    grid_momentum[t, base[0] + i, base[1] + j] += weight * (
                        volume * speed[t, p] + affine @ away
                    )
                    grid_mass[t, base[0] + i, base[1] + j] += weight * volume

    @ti.kernel
    def advance(t: int):
        for i, j in ti.ndrange(cells, cells):
            moved = grid_momentum[t, i, j] / (grid_mass[t, i, j] + 1e-10)
            moved[1] -= STEP * GRAVITY
            if i < WALL and moved[0] < 0.0:
                moved[0] = 0.0
            if i > cells - WALL and moved[0] > 0.0:
                moved[0] = 0.0
            if j < WALL and moved[1] < 0.0:
                moved[1] = 0.0
            if j > cells - WALL and moved[1] > 0.0:
                moved[1] = 0.0
            grid_speed[t, i, j] = moved

    @ti.kernel
    def gather(t: int):
        for p in range(size):
            scaled = place[t, p] * cells
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = [
                0.5 * (1.5 - inside) ** 2,
                0.75 - (inside - 1.0) ** 2,
                0.5 * (inside - 0.5) ** 2,
            ]
            moved = ti.Vector([0.0, 0.0])
            turned = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    away = ti.Vector([i * 1.0, j * 1.0]) - inside
                    weight = weights[i][0] * weights[j][1]
                    here = grid_speed[t, base[0] + i, base[1] + j]
                    moved += weight * here
                    turned += 4.0 * cells * weight * here.outer_product(away)
            speed[t + 1, p] = moved
            shear[t + 1, p] = turned
            place[t + 1, p] = place[t, p] + STEP * moved
            swell[t + 1, p] = swell[t, p] * (1.0 + STEP * (turned[0, 0] + turned[1, 1]))

    @ti.kernel
    def measure():
        for p in range(size):
            loss[None] += place[steps, p].norm_sqr() / size

    def forward() -> None:
        begin()
        for t in range(steps):
            scatter(t)
            advance(t)
            gather(t)
        measure()

    def reset() -> None:
        grid_mass.fill(0)
        grid_momentum.fill(0)

    return Workload(forward, loss, [throw], reset)
