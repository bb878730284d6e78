"""Whole programs: a network, springs, the material point method, a ray marcher, a wave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gradients import check, scalar, scatter, variable

import mlirad as ti


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """A program in double precision, with the threads a user gets."""
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


def test_two_layer_network() -> None:
    samples, inputs, hidden, outputs = 5, 4, 6, 3
    x, target = variable(samples, inputs, low=-1.0), variable(samples, outputs, low=-1.0, seed=1)
    w1, b1 = (
        variable(inputs, hidden, low=-1.0, seed=2),
        variable(hidden, low=-0.5, high=0.5, seed=3),
    )
    w2, b2 = (
        variable(hidden, outputs, low=-1.0, seed=4),
        variable(outputs, low=-0.5, high=0.5, seed=5),
    )
    z1, z2, loss = variable(samples, hidden), variable(samples, outputs), scalar()

    @ti.kernel
    def first_layer():
        for s, h in z1:
            total = b1[h]
            for i in range(inputs):
                total += x[s, i] * w1[i, h]
            z1[s, h] = ti.tanh(total)

    @ti.kernel
    def second_layer():
        for s, o in z2:
            z2[s, o] = b2[o]
            for h in range(hidden):
                z2[s, o] += z1[s, h] * w2[h, o]

    @ti.kernel
    def softmax_loss():
        for s in range(samples):
            total = 0.0
            for o in range(outputs):
                total += ti.exp(z2[s, o])
            for o in range(outputs):
                loss[None] -= target[s, o] * ti.log(ti.exp(z2[s, o]) / total)

    def run() -> None:
        first_layer()
        second_layer()
        softmax_loss()

    gradients = check(run, [x, w1, b1, w2, b2], loss)

    a = np.tanh(x.to_numpy() @ w1.to_numpy() + b1.to_numpy())
    scores = np.exp(a @ w2.to_numpy() + b2.to_numpy())
    t = target.to_numpy()
    d2 = scores / scores.sum(1, keepdims=True) * t.sum(1, keepdims=True) - t
    d1 = (d2 @ w2.to_numpy().T) * (1 - a * a)
    expected = [d1 @ w1.to_numpy().T, x.to_numpy().T @ d1, d1.sum(0), a.T @ d2, d2.sum(0)]
    for gradient, value in zip(gradients, expected):
        np.testing.assert_allclose(gradient, value, rtol=1e-10, atol=1e-13)


def test_mass_spring() -> None:
    steps, count, dt = 50, 5, 0.02
    x = ti.Vector.field(2, ti.f64, shape=(steps + 1, count), needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=(steps + 1, count), needs_grad=True)
    force = ti.Vector.field(2, ti.f64, shape=(steps, count), needs_grad=True)
    rest, stiffness, loss = (
        variable(count - 1, low=0.8, high=1.2),
        variable(count - 1, low=5.0, high=9.0),
        scalar(),
    )
    begin = ti.Vector.field(2, ti.f64, shape=count, needs_grad=True)
    begin.from_numpy(
        np.stack([np.arange(count), 0.1 * np.arange(count) ** 2], 1).astype(np.float64)
    )

    @ti.kernel
    def start():
        for i in begin:
            x[0, i] = begin[i]

    @ti.kernel
    def apply_springs(t: ti.i32):
        for s in range(count - 1):
            d = x[t, s + 1] - x[t, s]
            length = d.norm()
            f = stiffness[s] * (length - rest[s]) * d / length
            force[t, s] += f
            force[t, s + 1] -= f

    @ti.kernel
    def integrate(t: ti.i32):
        for i in range(count):
            v[t + 1, i] = 0.99 * v[t, i] + dt * (force[t, i] + ti.Vector([0.0, -1.0]))
            x[t + 1, i] = x[t, i] + dt * v[t + 1, i]
            if x[t + 1, i][1] < -0.1:
                v[t + 1, i][1] = 0.0

    @ti.kernel
    def measure():
        for i in range(count):
            loss[None] += (x[steps, i] - ti.Vector([1.0, 2.0])).norm_sqr()

    def run() -> None:
        force.fill(0)
        start()
        for t in range(steps):
            apply_springs(t)
            integrate(t)
        measure()

    check(run, [begin, rest, stiffness], loss)


def test_material_point_method() -> None:
    steps, particles, grid, dt = 3, 6, 8, 2e-3
    dx = 1.0 / grid
    mass, volume, modulus = 1.0, (dx * 0.5) ** 2, 50.0
    x = ti.Vector.field(2, ti.f64, shape=(steps + 1, particles), needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=(steps + 1, particles), needs_grad=True)
    c = ti.Matrix.field(2, 2, ti.f64, shape=(steps + 1, particles), needs_grad=True)
    f = ti.Matrix.field(2, 2, ti.f64, shape=(steps + 1, particles), needs_grad=True)
    grid_v = ti.Vector.field(2, ti.f64, shape=(steps, grid, grid), needs_grad=True)
    grid_m = ti.field(ti.f64, shape=(steps, grid, grid), needs_grad=True)
    grid_out = ti.Vector.field(2, ti.f64, shape=(steps, grid, grid), needs_grad=True)
    speed, loss = ti.Vector.field(2, ti.f64, shape=particles, needs_grad=True), scalar()
    scatter(speed, -1.0, 1.0)
    places = np.random.default_rng(0).uniform(0.36, 0.64, (particles, 2))
    # Away from the middle of cells, where the base node jumps.
    places = (np.floor(places / dx) + 0.15 + 0.2 * (places / dx % 1)) * dx
    x.from_numpy(np.concatenate([places[None], np.zeros((steps, particles, 2))]))
    f.from_numpy(np.broadcast_to(np.eye(2), (steps + 1, particles, 2, 2)))

    @ti.func
    def weights(fx):
        return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]

    @ti.kernel
    def begin():
        for p in range(particles):
            v[0, p] = speed[p]

    @ti.kernel
    def particles_to_grid(t: ti.i32):
        for p in range(particles):
            base = ti.cast(x[t, p] * grid - 0.5, ti.i32)
            fx = x[t, p] * grid - ti.cast(base, ti.f64)
            w = weights(fx)
            deformed = (ti.Matrix.identity(ti.f64, 2) + dt * c[t, p]) @ f[t, p]
            f[t + 1, p] = deformed
            j = deformed.determinant()
            stress = modulus * (
                deformed @ deformed.transpose() - ti.Matrix.identity(ti.f64, 2) * (1.0 - ti.log(j))
            )
            affine = -dt * volume * 4 * grid * grid * stress + mass * c[t, p]
            for a, b in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([a, b])
                d = (ti.cast(offset, ti.f64) - fx) * dx
                weight = w[a][0] * w[b][1]
                grid_v[t, base + offset] += weight * (mass * v[t, p] + affine @ d)
                grid_m[t, base + offset] += weight * mass

    @ti.kernel
    def update_grid(t: ti.i32):
        for i, j in ti.ndrange(grid, grid):
            if grid_m[t, i, j] > 0:
                u = grid_v[t, i, j] / grid_m[t, i, j]
                u[1] -= dt * 9.8
                if i < 2 and u[0] < 0:
                    u[0] = 0.0
                if j > grid - 3 and u[1] > 0:
                    u[1] = 0.0
                grid_out[t, i, j] = u

    @ti.kernel
    def grid_to_particles(t: ti.i32):
        for p in range(particles):
            base = ti.cast(x[t, p] * grid - 0.5, ti.i32)
            fx = x[t, p] * grid - ti.cast(base, ti.f64)
            w = weights(fx)
            new_v = ti.Vector.zero(ti.f64, 2)
            new_c = ti.Matrix.zero(ti.f64, 2, 2)
            for a, b in ti.static(ti.ndrange(3, 3)):
                d = ti.cast(ti.Vector([a, b]), ti.f64) - fx
                g = grid_out[t, base + ti.Vector([a, b])]
                weight = w[a][0] * w[b][1]
                new_v += weight * g
                new_c += 4 * weight * g.outer_product(d) * grid
            v[t + 1, p] = new_v
            x[t + 1, p] = x[t, p] + dt * new_v
            c[t + 1, p] = new_c

    @ti.kernel
    def measure():
        for p in range(particles):
            loss[None] += (x[steps, p] - 0.3).norm_sqr() + 0.1 * v[steps, p].norm_sqr()

    def run() -> None:
        grid_v.fill(0)
        grid_m.fill(0)
        begin()
        for t in range(steps):
            particles_to_grid(t)
            update_grid(t)
            grid_to_particles(t)
        measure()

    start = ti.Vector.field(2, ti.f64, shape=particles, needs_grad=True)
    start.from_numpy(places)

    @ti.kernel
    def place():
        for p in range(particles):
            x[0, p] = start[p]

    def run_from_start() -> None:
        place()
        run()

    check(run_from_start, [speed, start], loss)


def test_ray_marching() -> None:
    width, height = 6, 4
    centre = ti.Vector.field(3, ti.f64, shape=2, needs_grad=True)
    centre.from_numpy(np.array([[0.1, -0.1, 3.0], [-0.4, 0.3, 3.6]]))
    radius, light, loss = variable(2, low=0.7, high=0.9), variable(3), scalar()
    image = variable(width, height)

    @ti.func
    def distance(p):
        nearest = 1e3
        for s in range(2):
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
            direction = ti.Vector(
                [(i + 0.53) / width - 0.5, (j + 0.47) / height - 0.5, 1.0]
            ).normalized()
            t, hit = 0.0, 0
            for _ in range(64):
                d = distance(direction * t)
                if d < 1e-3:
                    hit = 1
                    break
                t += 0.9 * d
                if t > 10.0:
                    break
            colour = 0.1
            if hit:
                n = normal(direction * t)
                colour += ti.max(0.0, n.dot(ti.Vector([light[0], light[1], -light[2]]))) * ti.exp(
                    -0.1 * t
                )
            image[i, j] = colour
        for i, j in image:
            loss[None] += image[i, j] ** 2

    gradients = check(march, [centre, radius, light], loss)
    assert all(np.abs(gradient).max() > 0.01 for gradient in gradients)
    assert image.to_numpy().max() > 2 * image.to_numpy().min()


def test_wave() -> None:
    steps, n, c = 12, 9, 0.4
    u, start, speed, loss = (
        variable(steps, n, n),
        variable(n, n, low=-1.0),
        variable(n, n, seed=7),
        scalar(),
    )

    @ti.func
    def neighbour(t, i, j):
        value = 0.0
        if 0 <= i < n and 0 <= j < n:
            value = u[t, i, j]
        return value

    @ti.func
    def laplacian(t, i, j):
        around = (
            neighbour(t, i - 1, j)
            + neighbour(t, i + 1, j)
            + neighbour(t, i, j - 1)
            + neighbour(t, i, j + 1)
        )
        return around - 4 * u[t, i, j]

    @ti.kernel
    def begin():
        for i, j in start:
            u[0, i, j] = start[i, j]
            u[1, i, j] = start[i, j] * 0.9

    @ti.kernel
    def advance(t: ti.i32):
        for i, j in start:
            u[t, i, j] = (
                2 * u[t - 1, i, j]
                - u[t - 2, i, j]
                + (c * speed[i, j]) ** 2 * laplacian(t - 1, i, j)
            )

    @ti.kernel
    def measure():
        for i, j in start:
            loss[None] += (u[steps - 1, i, j] - 0.1 * i) ** 2

    def run() -> None:
        begin()
        for t in range(2, steps):
            advance(t)
        measure()

    check(run, [start, speed], loss)
