"""The liquid of `mpm2d`, its particles and the nodes of its grid in fields of structs, with
methods: members lie together."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.mpm2d import GRAVITY, STEP, STEPS, STIFFNESS, WALL


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """`size` particles."""
    return build_as(ti, size, ti.Layout.AOS, steps)


def build_as(ti: Any, size: int, layout: Any, steps: int = STEPS) -> Workload:
    """The same with members that lie together, or apart."""
    cells = 128 if size > 4_000 else 64
    width, volume = 1.0 / cells, 0.16 / size
    vec2, mat2 = ti.types.vector(2, ti.f32), ti.types.matrix(2, 2, ti.f32)

    @ti.dataclass
    class Particle:
        place: vec2
        speed: vec2
        shear: mat2
        swell: ti.f32

        @ti.func
        def affine(self):
            pressure = -STEP * volume * STIFFNESS * 4.0 * cells * cells * (self.swell - 1.0)
            return ti.Matrix([[pressure, 0.0], [0.0, pressure]]) + volume * self.shear

    @ti.dataclass
    class Node:
        momentum: vec2
        mass: ti.f32

        @ti.func
        def speed(self):
            return self.momentum / (self.mass + 1e-10)

    options = {"needs_grad": True, "layout": layout}
    particles = Particle.field(shape=(steps + 1, size), **options)
    nodes = Node.field(shape=(steps, cells, cells), **options)
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
            particles[0, p] = Particle(drop[p], throw[p], 0.0, 1.0)

    @ti.func
    def weights_of(inside):
        return [
            0.5 * (1.5 - inside) ** 2,
            0.75 - (inside - 1.0) ** 2,
            0.5 * (inside - 0.5) ** 2,
        ]

    @ti.kernel
    def scatter(t: int):
        for p in range(size):
            one = particles[t, p]
            scaled = one.place * cells
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = weights_of(inside)
            affine = one.affine()
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    away = (ti.Vector([i * 1.0, j * 1.0]) - inside) * width
                    weight = weights[i][0] * weights[j][1]
                    impulse = volume * one.speed + affine @ away
                    nodes[t, base[0] + i, base[1] + j].momentum += weight * impulse
                    nodes[t, base[0] + i, base[1] + j].mass += weight * volume

    @ti.kernel
    def advance(t: int):
        for i, j in ti.ndrange(cells, cells):
            moved = nodes[t, i, j].speed()
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
            one = particles[t, p]
            scaled = one.place * cells
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = weights_of(inside)
            moved = ti.Vector([0.0, 0.0])
            turned = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    away = ti.Vector([i * 1.0, j * 1.0]) - inside
                    weight = weights[i][0] * weights[j][1]
                    here = grid_speed[t, base[0] + i, base[1] + j]
                    moved += weight * here
                    turned += 4.0 * cells * weight * here.outer_product(away)
            swell = one.swell * (1.0 + STEP * (turned[0, 0] + turned[1, 1]))
            particles[t + 1, p] = Particle(one.place + STEP * moved, moved, turned, swell)

    @ti.kernel
    def measure():
        for p in range(size):
            loss[None] += particles[steps, p].place.norm_sqr() / size

    def forward() -> None:
        begin()
        for t in range(steps):
            scatter(t)
            advance(t)
            gather(t)
        measure()

    return Workload(forward, loss, [throw], lambda: nodes.fill(0))
