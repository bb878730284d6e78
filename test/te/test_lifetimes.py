"""How long definitions stay: as long as the program holds a tensor that is made of them."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import numpy as np
from te.derivatives import check, given

import mlirad as ti
from mlirad import te
from mlirad.ir.walk import block_operations
from mlirad.te.graph import graph


def _count() -> int:
    gc.collect()
    graph().collect()
    return len(block_operations(graph().module.body))


def _layer(x: te.Tensor, w: te.Tensor) -> te.Tensor:
    k = te.reduce_axis(x.shape[1])
    product = te.compute((x.shape[0], 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
    return te.compute(product.shape, lambda i, j: te.tanh(product[i, j]) / (1 + product[i, 0] ** 2))


def test_programs_that_are_gone_leave_nothing() -> None:
    ti.init(default_fp=ti.f64)
    _layer(given(3, 5), given(5, 4))
    before = _count()
    largest = 0
    for _ in range(60):
        x, w = given(te.var("n"), 5), given(5, 4, name="w")
        y = _layer(x, w)
        te.build(te.differentiate(y, [x, w], head=(head := given(*y.shape)))[0], [x, w, head])
        largest = max(largest, graph().count)
    del x, w, y, head
    assert largest <= 2 * 256 + 20 and _count() <= before + 8  # constants stay


def test_what_is_between_stays() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)
    x, w = given(3, 5), given(5, 4, name="w")
    y = _layer(x, w)
    _count()
    values = [np.random.default_rng(1).normal(size=one.shape) for one in (x, w)]
    product = values[0] @ values[1]
    found = check(y, [x, w], values, second=True)
    np.testing.assert_allclose(found, np.tanh(product) / (1 + product[:, :1] ** 2))


def test_gradients_of_operators_stay() -> None:
    ti.init(default_fp=ti.f64)

    @te.operator
    def doubled(x: te.Tensor) -> te.Tensor:
        """Twice a tensor."""
        return te.compute(x.shape, lambda i: x[i] * 2.0)

    def gradient(y: te.Tensor, inputs: Sequence[te.Tensor], head: te.Tensor) -> list[te.Tensor]:
        return [te.compute(inputs[0].shape, lambda i: head[i] * 7.0)]

    doubled.def_gradient(gradient)
    x = given(3)

    def squared() -> te.Tensor:
        inner = te.nn.exp(x)
        own = doubled(inner)
        return te.compute((), lambda: own[0] + own[2])

    y = squared()
    _count()
    (found,) = te.differentiate(y, [x])
    values = np.array([0.1, 0.2, 0.3])
    expected = 7 * np.exp(values) * [1, 0, 1]
    np.testing.assert_allclose(te.build(found, [x])(values), expected)


def test_sizes_are_made_again() -> None:
    ti.init(default_fp=ti.f64)
    n = te.var("n")
    for _ in range(2):
        x = given(n)
        y = te.build(te.compute((n,), lambda i, x=x: x[i] + n), [x])
        np.testing.assert_allclose(y(np.ones(3)), np.full(3, 4.0))
        del x, y
        _count()


def test_adjoints_are_made_of_what_is_held() -> None:
    ti.init(default_fp=ti.f64)
    x, w = given(3, 5), given(5, 4, name="w")
    result = te.differentiate(_layer(x, w), [x, w], head=(head := given(3, 4)))
    known = dict(result.adjoints)
    _count()
    assert all(result.adjoints[one] is own for one, own in known.items())
    dx = te.build(result[0], [x, w, head])
    assert dx(np.ones((3, 5)), np.ones((5, 4)), np.zeros((3, 4))).shape == (3, 5)
