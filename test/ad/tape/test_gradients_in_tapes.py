"""`kernel.grad()` inside what takes derivatives: simulations whose forces are gradients of an
energy, against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, variable, vectors

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(default_fp=ti.f64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"field 'field' .* has no gradient, but")
        yield


@pytest.fixture(params=[1, 2], ids=["one_thread", "two_threads"])
def threads(request: pytest.FixtureRequest) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)


def simulated(
    energy: Any, x: Any, total: Any, count: int = 3
) -> tuple[Callable[[], None], Any, Any]:
    """A simulation by velocity Verlet in some steps, its velocities, and its loss."""
    v = vectors(*x.element_shape, *x.shape, seed=7) if x.element_shape else _velocities(x)
    loss = scalar()

    @ti.kernel
    def kick():
        for i in x:
            v[i] -= 0.05 * x.grad[i]

    @ti.kernel
    def drift():
        for i in x:
            x[i] += 0.1 * v[i]

    @ti.kernel
    def measure():
        for i in x:
            loss[None] += ti.math.dot(x[i], x[i]) if ti.static(x.element_shape != ()) else x[i] ** 2

    def force() -> None:
        x.grad.fill(0.0)
        total.grad[None] = 1.0
        energy.grad()

    def run() -> None:
        force()
        for _ in range(count):
            kick()
            drift()
            force()
            kick()
        measure()

    return run, v, loss


def _velocities(x: Any) -> Any:
    return variable(*x.shape, seed=7)


def test_pair_energy(threads: None) -> None:
    n = 4
    x, epsilon, total = vectors(2, n), variable(n, seed=3), scalar()
    x.from_numpy(np.array([[0.0, 0.0], [1.2, 0.1], [0.1, 1.3], [1.1, 1.2]]))

    @ti.kernel
    def lennard_jones():
        for i in range(n):
            for j in range(n):
                if i < j:
                    d = x[i] - x[j]
                    s = 1.0 / (d.dot(d) + 0.1) ** 3
                    total[None] += 4.0 * epsilon[i] * epsilon[j] * (s * s - s)

    run, v, loss = simulated(lennard_jones, x, total)
    check(run, [x, v, epsilon], loss)


def test_springs() -> None:
    n = 5
    x, stiffness, total = vectors(2, n), variable(n - 1, seed=5), scalar()
    ends = ti.Vector.field(2, ti.i32, n - 1)
    ends.from_numpy(np.array([[0, 2], [2, 1], [1, 4], [4, 3]], np.int32))

    @ti.kernel
    def springs():
        for k in stiffness:
            i, j = ends[k][0], ends[k][1]
            length = (x[i] - x[j]).norm()
            total[None] += 0.5 * stiffness[k] * (length - 0.7) ** 2

    run, v, loss = simulated(springs, x, total)
    check(run, [x, v, stiffness], loss)


def test_finite_elements() -> None:
    x, total = vectors(2, 6), scalar()
    mu, rest = variable(4, seed=2), ti.Matrix.field(2, 2, ti.f64, 4)
    corners = ti.Vector.field(3, ti.i32, 4)
    places = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.1, 2], [1, 2.1]], float)
    triangles = np.array([[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]], np.int32)
    corners.from_numpy(triangles)
    sides = places[triangles[:, 1:]] - places[triangles[:, :1]]
    rest.from_numpy(np.linalg.inv(sides.transpose(0, 2, 1)))
    x.from_numpy(places * 1.1 + 0.03 * np.sin(np.arange(12.0)).reshape(6, 2))

    @ti.kernel
    def neo_hookean():
        for e in mu:
            a, b, c = x[corners[e][0]], x[corners[e][1]], x[corners[e][2]]
            f = ti.Matrix.cols([b - a, c - a]) @ rest[e]
            j = f.determinant()
            trace = (f.transpose() @ f).trace()
            total[None] += 0.5 * mu[e] * (trace - 2.0 - 2.0 * ti.log(j)) + ti.log(j) ** 2

    run, v, loss = simulated(neo_hookean, x, total, count=1)
    check(run, [x, v, mu], loss)


def test_single_precision_in_closed_form() -> None:
    x, total = ti.field(ti.f32, 4, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    start = np.array([0.5, 0.8, 1.1, 0.3], np.float32)
    x.from_numpy(start)

    @ti.kernel
    def energy():
        for i in x:
            total[None] += x[i] ** 3

    @ti.kernel
    def descend():
        for i in x:
            x[i] -= ti.f32(0.1) * x.grad[i]
            loss[None] += x[i] ** 2

    with ti.ad.Tape(loss):
        total.grad[None] = 1.0
        energy.grad()
        descend()
    moved = start - 0.3 * start**2
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * moved * (1 - 0.6 * start), rtol=1e-5)


# Energies with any control flow.


def _history(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            a = x[i]
            for k in range(4):
                a = ti.sin(a) * x[i] + 0.1 * k
            total[None] += a

    return energy


def _nested(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            a = x[i]
            for k in range(3):
                b = a
                for _m in range(k + 1):
                    b = b * ti.cos(x[i]) + 0.2 * a
                a = ti.sin(b + a)
            total[None] += a * x[i]

    return energy


def _while(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            a = x[i]
            while a < 5.0:
                a = a * a + x[i]
            total[None] += ti.sin(a)

    return energy


def _left_early(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            a = x[i]
            for k in range(9):
                if a > 3.0:
                    break
                a = a * a + x[i] * (k + 1)
            total[None] += ti.log(a)

    return energy


def _branches(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            a = 1.0
            for j in range(x.shape[0]):
                if x[j] > x[i]:
                    a *= x[j] - x[i] + 0.5
                elif i != j:
                    a += ti.sin(x[j] * a)
            total[None] += a

    return energy


def _outside(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        s = x[0] * x[1]
        ti.loop_config(serialize=True)
        for _k in range(3):
            s = ti.sin(s) * x[2] + s
        for i in x:
            total[None] += s * x[i] ** 2

    return energy


def _serial(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        s = 0.5
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            s = ti.sin(s + x[i]) * x[i]
            total[None] += s * s

    return energy


def _local_vector(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            a = ti.Vector([x[i], 1.0, 0.5])
            for k in range(5):
                a[k % 3] = a[(k + 1) % 3] * a[k % 3] + x[i]
            total[None] += a.dot(a)

    return energy


def _extreme(x: Any, total: Any) -> Any:
    @ti.kernel
    def energy():
        for i in x:
            for j in range(x.shape[0]):
                total[None] += ti.max(x[i] * x[j], ti.min(x[j], 0.8)) ** 2

    return energy


def _function(x: Any, total: Any) -> Any:
    @ti.func
    def length(a, b):
        if a > b:
            return ti.sqrt(a * a + b)
        return a * b + 1.0

    @ti.kernel
    def energy():
        for i in x:
            total[None] += length(x[i], x[(i + 1) % x.shape[0]]) ** 3

    return energy


def _two_loops(x: Any, total: Any) -> Any:
    y = variable(*x.shape, seed=9)

    @ti.kernel
    def energy():
        for i in x:
            y[i] = x[i] ** 2 * ti.sin(x[i])
        for i in x:
            total[None] += y[i] * y[(i + 1) % x.shape[0]]

    class WithLaunch:
        """The intermediate is what its last launch left."""

        @staticmethod
        def grad() -> None:
            y.grad.fill(0.0)
            energy()
            energy.grad()

    return WithLaunch


ENERGIES = [
    *(_history, _nested, _while, _left_early, _branches, _outside, _serial),
    *(_local_vector, _extreme, _function, _two_loops),
]


@pytest.mark.parametrize("make", ENERGIES, ids=lambda make: make.__name__[1:])
def test_energies_with_any_control_flow(make: Any) -> None:
    x, total = variable(4, seed=1), scalar()
    run, v, loss = simulated(make(x, total), x, total, count=2)
    check(run, [x, v], loss)


@pytest.mark.parametrize("kind", ["select", "norm", "branch"])
def test_nothing_times_infinity(kind: str) -> None:
    n = 3
    x, total = vectors(2, n), scalar()

    @ti.kernel
    def energy():
        for i in x:
            for j in range(n):
                d = x[i] - x[j]
                if ti.static(kind == "select"):
                    total[None] += ti.select(i != j, 0.1 / d.dot(d) ** 0.5, 0.0)
                elif ti.static(kind == "norm"):
                    total[None] += 0.1 * (d.norm() - 0.3) ** 2 * ti.select(i == j, 0.0, 1.0)
                else:
                    r = d.norm()
                    if i != j:
                        total[None] += 0.1 / r

    run, v, loss = simulated(energy, x, total, count=1)
    check(run, [x, v], loss)
