"""Classes, templates and functions that update memory in place; against finite differences."""

from __future__ import annotations

import pytest
from gradients import check, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_a_class_with_state() -> None:
    @ti.data_oriented
    class Oscillator:
        def __init__(self, stiffness: float) -> None:
            self.stiffness = stiffness
            self.x, self.v = variable(N), variable(N, seed=1)
            self.steps = 0

        @ti.func
        def force(self, i):
            return -self.stiffness * ti.sin(self.x[i])

        @ti.kernel
        def step(self, dt: ti.f64):
            for i in self.x:
                self.v[i] += dt * self.force(i)
                self.x[i] += dt * self.v[i] * self.x[i]

        @ti.kernel
        def energy(self, loss: ti.template()):
            for i in self.x:
                loss[None] += self.v[i] ** 2 - self.stiffness * ti.cos(self.x[i])

    one, two, loss = Oscillator(2.0), Oscillator(0.5), scalar()

    def run() -> None:
        for t in range(3):
            one.step(0.1 * t)
            two.step(0.2)
        one.energy(loss)
        two.energy(loss)

    check(run, [one.x, one.v, two.x, two.v], loss)


def test_one_kernel_with_many_templates() -> None:
    x, y, z, loss = variable(N), variable(N, seed=1), variable(N, seed=2), scalar()

    @ti.kernel
    def mix(a: ti.template(), b: ti.template(), power: ti.template(), scale: ti.f64):
        for i in a:
            a[i] = (
                scale * a[i] ** power * b[N - 1 - i]
                if ti.static(a is not b)
                else scale * a[i] ** power
            )

    def run() -> None:
        mix(x, y, 2, 0.9)
        mix(y, x, 3, 0.8)
        mix(z, z, 2, 0.7)
        mix(z, x, 1, 1.1)
        mix(x, z, 2, 1.2)
        total(x, loss)
        total(y, loss)

    check(run, [x, y, z], loss)


def test_static_loops_over_fields_in_place() -> None:
    layers, loss = [variable(N, seed=s) for s in range(4)], scalar()

    @ti.kernel
    def forward():
        for k in ti.static(range(3)):
            for i in range(N):
                layers[k + 1][i] = ti.tanh(layers[k][i] * layers[k + 1][i] + layers[k][i])
        for k in ti.static(range(3)):
            for i in range(N):
                layers[k][i] *= layers[k + 1][i]

    check(lambda: (forward(), forward(), [total(f, loss) for f in layers]), layers, loss)


def test_functions_with_early_returns_that_update_memory() -> None:
    x, loss = variable(N, low=0.2, high=1.8), scalar()

    @ti.func
    def inner(i, a):
        if a > 1.2:
            x[i] *= 0.5
            return a * x[i]
        for _ in range(3):
            a = a * x[i] + 0.3
            if a > 1.1:
                return a
        x[i] += a
        return -a

    @ti.func
    def outer(i):
        b = inner(i, x[i])
        if b < 0.3:
            return b * inner(i, b + 0.9)
        return inner(i, b) + b

    @ti.kernel
    def step():
        for i in x:
            loss[None] += outer(i) * x[i]

    check(lambda: (step(), step()), [x], loss)


def test_a_function_given_a_field_and_a_local() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.func
    def bump(f: ti.template(), i, amount: ti.template()):
        f[i] = f[i] * amount + ti.sin(f[i])
        amount += f[i]

    @ti.kernel
    def step():
        for i in x:
            a = y[i]
            bump(x, i, a)
            bump(y, i, a)
            bump(x, i, a)
            loss[None] += a * x[i]

    check(lambda: (step(), step()), [x, y], loss)
