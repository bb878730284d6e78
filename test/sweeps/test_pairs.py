"""Gradients of sums over pairs, in which each body gets what it gives and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, scatter, variable, vectors

import mlirad as ti

Program = tuple[Callable[[], Any], list[Any], Any]


def potential(n: int) -> Program:
    """Of bodies, whose masses have gradients too."""
    x, m, u = vectors(3, n), variable(n, seed=1), scalar()

    @ti.kernel
    def run():
        for i in range(n):
            around = 0.0
            for j in range(n):
                apart = x[i] - x[j]
                around += m[j] / ti.sqrt(apart.dot(apart) + 0.25)
            u[None] += -0.5 * m[i] * around

    return run, [x, m], u


def asymmetric(n: int) -> Program:
    """What one body gives is not what it gets."""
    x, y, u = variable(n), variable(n, seed=1), scalar()

    @ti.kernel
    def run():
        for i in range(n):
            for j in range(n):
                u[None] += x[i] * x[i] * x[j] / (y[j] + 0.5) + abs(y[i] - 0.7 * y[j] - 3.0)

    return run, [x, y], u


def batches(n: int) -> Program:
    """Pairs of each row, beside another index that both have in common."""
    x, u = variable(3, n), scalar()

    @ti.kernel
    def run():
        for b, i in ti.ndrange(3, n):
            near = 0.0
            for j in range(n):
                near += ti.exp(-((x[b, i] - x[b, j]) ** 2)) * (j + 1)
            u[None] += near * near

    return run, [x], u


def guarded(n: int) -> Program:
    """No body meets itself, and far ones are left out."""
    x, u = variable(n), scalar()

    @ti.kernel
    def run():
        for i in range(n):
            u[None] += x[i]
            for j in range(n):
                apart = x[i] - x[j]
                if i != j and apart < 0.45:
                    u[None] += 1.0 / (1.0 + apart * apart)

    return run, [x], u


def forces(n: int) -> Program:
    """The primal adds to both bodies, and its reverse reads both."""
    x, f, u = variable(n), variable(n, seed=2), scalar()

    @ti.kernel
    def pull():
        for i in range(n):
            for j in range(n):
                apart = x[i] - x[j]
                push = (i + 1) * apart / (apart * apart + 0.5)
                f[i] += push
                f[j] -= 0.5 * push

    @ti.kernel
    def square():
        for i in range(n):
            u[None] += f[i] ** 2

    def run() -> None:
        pull()
        square()

    return run, [x, f], u


PROGRAMS = [potential, asymmetric, batches, guarded, forces]


@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("n", [1, 11])
@pytest.mark.parametrize("program", PROGRAMS)
def test_pairs(program: Callable[[int], Program], n: int, fast_math: bool) -> None:
    ti.init(default_fp=ti.f64, fast_math=fast_math)
    run, inputs, loss = program(n)
    check(run, inputs, loss)


@pytest.mark.parametrize("program", PROGRAMS)
def test_pairs_on_two_threads_and_in_lanes(program: Callable[[int], Program]) -> None:
    found = []
    for options in ({"cpu_max_num_threads": 1, "lanes": 1}, {"cpu_max_num_threads": 2, "lanes": 4}):
        ti.init(default_fp=ti.f64, **options)
        run, inputs, loss = program(150)
        with ti.ad.Tape(loss):
            run()
        found.append([x.grad.to_numpy() for x in inputs])
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_where_bodies_coincide() -> None:
    """Nothing is cancelled that may be 0, and no sign of 0 is lost."""
    ti.init(default_fp=ti.f32)
    x = ti.field(ti.f32, shape=3, needs_grad=True)
    u = ti.field(ti.f32, shape=(), needs_grad=True)
    x.from_numpy(np.array([1, 1, 2], np.float32))

    @ti.kernel
    def run():
        for i in range(3):
            for j in range(3):
                u[None] += ti.sqrt((x[i] - x[j]) ** 2 + 1e-6) * x[i] * x[j]

    with ti.ad.Tape(u):
        run()
    v = np.array([1.0, 1.0, 2.0])
    apart = v[:, None] - v
    length = np.sqrt(apart**2 + 1e-6)
    expected = 2 * (apart / length * v[:, None] * v + length * v).sum(axis=1)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-4)


def test_explain_says_what_is_gathered() -> None:
    ti.init(default_fp=ti.f64)
    run, inputs, loss = potential(16)
    scatter(inputs[0])
    with ti.ad.Tape(loss):
        run()
    assert "what pairs add to the second element of" in str(run.explain())
