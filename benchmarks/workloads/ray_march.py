"""Spheres seen by marching rays: loops that end by `break`, an `if` on what they found, normals by
differences."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

SPHERES, MOST_STEPS, NEAR, FAR = 6, 64, 1e-3, 10.0


def build(ti: Any, size: int) -> Workload:
    """An image of `size` x `size` points."""
    centre = ti.Vector.field(3, ti.f32, SPHERES, needs_grad=True)
    radius = ti.field(ti.f32, SPHERES, needs_grad=True)
    light = ti.Vector.field(3, ti.f32, (), needs_grad=True)
    image = ti.field(ti.f32, (size, size), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(43)
    centre.from_numpy(
        random.uniform((-1.5, -1.5, 3.0), (1.5, 1.5, 5.0), (SPHERES, 3)).astype(np.float32)
    )
    radius.from_numpy(random.uniform(0.3, 0.9, SPHERES).astype(np.float32))
    light[None] = [0.3, 0.5, -0.8]

    @ti.func
    def distance(p):
        nearest = 1e3
        for s in range(SPHERES):
            nearest = ti.min(nearest, (p - centre[s]).norm() - radius[s])
        return nearest

    @ti.func
    def normal(p):
        n = ti.Vector([0.0, 0.0, 0.0])
        for axis in ti.static(range(3)):
            step = ti.Vector([1e-2 * (axis == 0), 1e-2 * (axis == 1), 1e-2 * (axis == 2)])
            n[axis] = distance(p + step) - distance(p - step)
        return n.normalized()

    @ti.kernel
    def march():
        for i, j in image:
            ray = ti.Vector([(i + 0.53) / size - 0.5, (j + 0.47) / size - 0.5, 1.0]).normalized()
            far, hit = 0.0, 0
            for _ in range(MOST_STEPS):
                away = distance(ray * far)
                if away < NEAR:
                    hit = 1
                    break
                far += 0.9 * away
                if far > FAR:
                    break
            colour = 0.1
            if hit:
                colour += ti.max(0.0, normal(ray * far).dot(light[None])) * ti.exp(-0.1 * far)
            image[i, j] = colour
        for i, j in image:
            loss[None] += image[i, j] ** 2 / (size * size)

    return Workload(march, loss, [centre, radius, light])
