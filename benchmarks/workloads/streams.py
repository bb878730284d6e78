"""Particles in a field of structs that fly, in place, by a method; a sum over some of them."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

STEP = 1e-3


def build(ti: Any, size: int) -> Workload:
    """`size` particles."""
    vec3 = ti.types.vector(3, ti.f32)

    @ti.dataclass
    class Particle:
        place: vec3
        speed: vec3
        mass: ti.f32
        kind: ti.i32

        @ti.func
        def fly(self, step):
            self.speed += step * ti.Vector([0.0, -9.8, 0.0])
            self.place += step * self.speed

        @ti.func
        def energy(self):
            return self.mass * (0.5 * self.speed.norm_sqr() + 9.8 * self.place.y)

    particles, start = Particle.field(), ti.Vector.field(3, ti.f32, size, needs_grad=True)
    block = ti.root.dense(ti.i, size)
    block.place(particles)
    block.lazy_grad()
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(31)
    start.from_numpy(random.uniform(0.0, 1.0, (size, 3)).astype(np.float32))

    @ti.kernel
    def begin():
        for i in particles:
            particles[i] = Particle(start[i], 0.0, 1.0 + i % 3, i % 3)

    @ti.kernel
    def fly():
        for i in particles:
            particles[i].fly(STEP)

    @ti.kernel
    def measure():
        for i in particles:
            if particles[i].kind != 2:
                loss[None] += particles[i].energy() / size

    def forward() -> None:
        begin()
        for _ in range(4):
            fly()
        measure()

    return Workload(forward, loss, [start])
