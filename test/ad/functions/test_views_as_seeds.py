"""Directions and adjoints that show memory of the program, which derivatives clear."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


@pytest.mark.parametrize("size", [8, 1 << 18])
def test_seeds_that_are_views_of_gradients(size: int) -> None:
    """They are what they were at the call, though what they show is cleared."""
    x = ti.field(ti.f64, size, needs_grad=True, needs_dual=True)
    y = ti.field(ti.f64, size, needs_grad=True, needs_dual=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] * x[i]

    @ti.kernel
    def cube():
        for i in x:
            loss[None] += x[i] ** 3

    values, weights = np.linspace(1, 2, size), np.linspace(-1, 1, size)
    x.from_numpy(values)
    for view in (np.from_dlpack, np.asarray, lambda given: given):
        y.grad.from_numpy(weights)
        with ti.ad.Tape() as tape:
            square()
        y.grad.from_numpy(weights)
        tape.grad({y: view(y.grad)})
        np.testing.assert_allclose(x.grad.to_numpy(), 2 * values * weights)
        x.dual.from_numpy(weights)
        with ti.ad.FwdMode(loss=y, param=x, seed=view(x.dual)):
            square()
        np.testing.assert_allclose(y.dual.to_numpy(), 2 * values * weights)
        x.grad.from_numpy(weights)
        found = ti.ad.hvp(cube, loss, x, view(x.grad))
        np.testing.assert_allclose(found, 6 * values * weights)
        array = ti.ndarray(ti.f64, size, needs_grad=True)
        array.grad.from_numpy(weights)
        np.testing.assert_allclose(ti.ad.hvp(cube, loss, x, view(array.grad)), found)
