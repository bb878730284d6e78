"""Fluid, jelly and snow by the moving least squares material point method: of each a third of the
particles, the snow yields (Hu et al., SIGGRAPH 2018; Stomakhin et al., SIGGRAPH 2013)."""

from collections.abc import Callable
from typing import Any

import numpy as np

CELLS, STEP = 128, 1e-4
WIDTH = 1.0 / CELLS
VOLUME = (0.5 * WIDTH) ** 2
BULK, SHEAR = 2000.0 / 3.6, 5000.0 / 12.0  # of jelly and of snow that is not packed
FLUID, JELLY, SNOW = 0, 1, 2


def build(ti: Any, size: int, is_pulled: bool) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` particles; twenty steps in one, and a digest. `is_pulled`: gravity, and a point that
    attracts, are fields that change."""
    place, speed = ti.Vector.field(2, ti.f32, size), ti.Vector.field(2, ti.f32, size)
    affine, shape = (ti.Matrix.field(2, 2, ti.f32, size) for _ in range(2))
    packed, kind = ti.field(ti.f32, size), ti.field(ti.i32, size)
    momentum, mass = ti.Vector.field(2, ti.f32, (CELLS,) * 2), ti.field(ti.f32, (CELLS,) * 2)
    gravity, magnet = ti.Vector.field(2, ti.f32, ()), ti.Vector.field(2, ti.f32, ())
    strength = ti.field(ti.f32, ())
    chance = np.random.default_rng(7)
    group = np.arange(size) * 3 // size
    corner = np.stack([0.3 + 0.1 * group, 0.05 + 0.32 * group], 1)
    place.from_numpy((corner + chance.uniform(0, 0.2, (size, 2))).astype(np.float32))
    kind.from_numpy(group.astype(np.int32))
    packed.fill(1.0)
    shape.from_numpy(np.broadcast_to(np.eye(2, dtype=np.float32), (size, 2, 2)).copy())

    @ti.func
    def stress(p):
        """The Kirchhoff stress of a particle, whose deformation has grown by its velocities."""
        shape[p] = (ti.Matrix.identity(ti.f32, 2) + STEP * affine[p]) @ shape[p]
        hardness = ti.max(0.1, ti.min(5.0, ti.exp(10.0 * (1.0 - packed[p]))))
        if kind[p] == JELLY:
            hardness = 0.3
        shear, bulk = SHEAR * hardness, BULK * hardness
        if kind[p] == FLUID:
            shear = 0.0
        left, stretch, right = ti.svd(shape[p])
        swell = 1.0
        for d in ti.static(range(2)):
            kept = stretch[d, d]
            if kind[p] == SNOW:
                kept = ti.min(ti.max(stretch[d, d], 1 - 2.5e-2), 1 + 4.5e-3)
            packed[p] *= stretch[d, d] / kept
            stretch[d, d] = kept
            swell *= kept
        if kind[p] == FLUID:
            shape[p] = ti.Matrix.identity(ti.f32, 2) * ti.sqrt(swell)
        elif kind[p] == SNOW:
            shape[p] = left @ stretch @ right.transpose()
        off = shape[p] - left @ right.transpose()
        pressure = bulk * swell * (swell - 1)
        return 2 * shear * off @ shape[p].transpose() + ti.Matrix.identity(ti.f32, 2) * pressure

    @ti.kernel
    def step():
        for cell in ti.grouped(mass):
            momentum[cell] = [0.0, 0.0]
            mass[cell] = 0.0
        for p in place:
            base = ti.cast(place[p] * CELLS - 0.5, ti.i32)
            inside = place[p] * CELLS - ti.cast(base, ti.f32)
            weights = [
                0.5 * (1.5 - inside) ** 2,
                0.75 - (inside - 1) ** 2,
                0.5 * (inside - 0.5) ** 2,
            ]
            flow = -STEP * VOLUME * 4 * CELLS * CELLS * stress(p) + VOLUME * affine[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                away = (ti.Vector([i, j]) - inside) * WIDTH
                weight = weights[i][0] * weights[j][1]
                momentum[base + ti.Vector([i, j])] += weight * (VOLUME * speed[p] + flow @ away)
                mass[base + ti.Vector([i, j])] += weight * VOLUME
        for i, j in mass:
            if mass[i, j] > 0:
                moved = momentum[i, j] / mass[i, j]
                if ti.static(is_pulled):
                    to = magnet[None] - ti.Vector([i, j]) * WIDTH
                    moved += STEP * (gravity[None] * 30 + strength[None] * to / (0.01 + to.norm()))
                else:
                    moved[1] -= STEP * 50
                if (i < 3 and moved[0] < 0) or (i > CELLS - 3 and moved[0] > 0):
                    moved[0] = 0
                if (j < 3 and moved[1] < 0) or (j > CELLS - 3 and moved[1] > 0):
                    moved[1] = 0
                momentum[i, j] = moved
        for p in place:
            base = ti.cast(place[p] * CELLS - 0.5, ti.i32)
            inside = place[p] * CELLS - ti.cast(base, ti.f32)
            weights = [
                0.5 * (1.5 - inside) ** 2,
                0.75 - (inside - 1) ** 2,
                0.5 * (inside - 0.5) ** 2,
            ]
            moved = ti.Vector([0.0, 0.0])
            turned = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                found = momentum[base + ti.Vector([i, j])]
                weight = weights[i][0] * weights[j][1]
                moved += weight * found
                turned += 4 * CELLS * weight * found.outer_product(ti.Vector([i, j]) - inside)
            speed[p] = moved
            affine[p] = turned
            place[p] += STEP * moved

    time = [0.0]

    def steps() -> None:
        if is_pulled:
            time[0] += 0.02
            gravity[None] = [np.sin(time[0]), -1.0]
            magnet[None] = [0.5 + 0.3 * np.cos(time[0]), 0.5]
            strength[None] = 40.0
        for _ in range(20):
            step()

    return steps, lambda: float(place.to_numpy().astype(np.float64).mean(0)[1])
