"""Sizes that a call decides, down to none; integers divided by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te.derivatives import given

import mlirad as ti
from mlirad import te

RANDOM = np.random.default_rng(13)


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


def test_products_of_matrices_of_all_sizes() -> None:
    n, m, q = (te.var(name) for name in "nmq")
    a, c, head = given(n, m, name="a"), given(m, q, name="c"), given(n, q, name="head")
    k = te.reduce_axis(m)
    y = te.compute((n, q), lambda i, j: te.sum(a[i, k] * c[k, j], axis=k))
    step = te.build([y, *te.differentiate(y, [a, c], head)], [a, c, head])
    for rows, inner, columns in ((17, 33, 9), (1, 1, 1), (0, 3, 2), (2, 0, 3), (3, 2, 0)):
        left, right, above = (
            RANDOM.normal(size=shape)
            for shape in ((rows, inner), (inner, columns), (rows, columns))
        )
        wanted = (left @ right, above @ right.T, left.T @ above)
        for own, expected in zip(step(left, right, above), wanted):
            np.testing.assert_allclose(own, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_of_nothing(name: str) -> None:
    n, m = te.var("n"), te.var("m")
    x, head, k = given(n, m), given(n), te.reduce_axis(m)
    function = {"sum": te.sum, "prod": te.prod, "max": te.max, "min": te.min}[name]
    neutral = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}[name]
    reduce: Any = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[name]
    y = te.compute((n,), lambda i: function(x[i, k] * x[i, k], axis=k))
    step = te.build([y, *te.differentiate(y, [x], head)], [x, head])
    for shape in ((0, 3), (3, 0), (1, 1), (2, 5), (0, 0)):
        value = RANDOM.normal(size=shape)
        found, slope = step(value, np.ones(shape[0]))
        np.testing.assert_allclose(found, reduce.reduce(value**2, axis=1, initial=neutral))
        assert slope.shape == shape and np.isfinite(slope).all()


def test_divisions_by_sizes() -> None:
    n, m = te.var("n"), te.var("m")
    x, head = given(n, m), given(n * m)
    flat = te.compute((n * m,), lambda t: x[t // m, t % m] ** 2)
    step = te.build([flat, *te.differentiate(flat, [x], head)], [x, head])
    for shape in ((3, 4), (1, 5), (0, 2), (2, 0)):
        value, above = RANDOM.normal(size=shape), RANDOM.normal(size=shape[0] * shape[1])
        found, slope = step(value, above)
        np.testing.assert_allclose(found, value.ravel() ** 2)
        np.testing.assert_allclose(slope, 2 * value * above.reshape(shape))
    k, long, w = te.reduce_axis(m), given(n, name="long"), given(m, name="w")
    folded = te.compute((n // m,), lambda i: te.sum(long[i * m + k] * w[k], axis=k))
    above_ = given(n // m, name="above")
    step = te.build([folded, *te.differentiate(folded, [long, w], above_)], [long, w, above_])
    values, weights = RANDOM.normal(size=12), RANDOM.normal(size=4)
    found, along, across = step(values, weights, np.ones(3))
    np.testing.assert_allclose(found, values.reshape(3, 4) @ weights)
    np.testing.assert_allclose(along, np.tile(weights, 3))
    np.testing.assert_allclose(across, values.reshape(3, 4).sum(0))
