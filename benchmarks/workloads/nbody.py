"""Newton's potential of all pairs of bodies, whose gradient is the forces: bound by arithmetic."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

SOFTENING = 0.05


def build(ti: Any, size: int) -> Workload:
    """`size` bodies."""
    place = ti.Vector.field(3, ti.f32, size, needs_grad=True)
    mass = ti.field(ti.f32, size)
    energy = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(17)
    place.from_numpy(random.normal(0, 1, (size, 3)).astype(np.float32))
    mass.from_numpy((random.uniform(0.5, 1.5, size) / size).astype(np.float32))

    @ti.kernel
    def potential():
        for i in range(size):
            around = 0.0
            for j in range(size):
                apart = place[i] - place[j]
                around += mass[j] / ti.sqrt(apart.dot(apart) + SOFTENING * SOFTENING)
            energy[None] += -0.5 * mass[i] * around

    return Workload(potential, energy, [place])
