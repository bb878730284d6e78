"""Tiles of large contractions: blocks of rows, panels of the sum, sums outside of tiles, with ends
that fill none of them."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad as ti
from mlirad import te

RANDOM = np.random.default_rng(5)


def _compare(step, wanted, *values):
    for found, one in zip(step(*values), wanted):
        scale = abs(one).max()
        np.testing.assert_allclose(found / scale, one / scale, atol=2e-6)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", [(301, 600, 530), (1, 1030, 600), (530, 1, 600), (260, 517, 3)])
def test_products_and_their_adjoints(sizes, threads):
    ti.init(cpu_max_num_threads=threads)
    rows, depth, columns = sizes
    m, n = te.var("m"), te.var("n")
    x, w = te.placeholder((m, depth), name="x"), te.placeholder((depth, n), name="w")
    k = te.reduce_axis(depth)
    y = te.compute((m, n), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="y")
    head = te.placeholder((m, n), name="head")
    dx, dw = te.differentiate(y, [x, w], head=head)
    step = te.build([y, dx, dw], [x, w, head])
    a, b, c = (
        RANDOM.standard_normal(shape).astype(np.float32)
        for shape in ((rows, depth), (depth, columns), (rows, columns))
    )
    wide = [one.astype(np.float64) for one in (a, b, c)]
    wanted = [wide[0] @ wide[1], wide[2] @ wide[1].T, wide[0].T @ wide[2]]
    _compare(step, wanted, a, b, c)


@pytest.mark.cpu_code("tiles of registers are the CPU's")
def test_large_products_of_known_sizes():
    ti.init(cpu_max_num_threads=1)
    x, w = te.placeholder((301, 700), name="x"), te.placeholder((700, 531), name="w")
    k = te.reduce_axis(700)
    y = te.compute((301, 531), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="y")
    head = te.placeholder((301, 531), name="head")
    step = te.build([y, *te.differentiate(y, [x, w], head=head)], [x, w, head])
    a, b, c = (
        RANDOM.standard_normal(shape).astype(np.float32)
        for shape in ((301, 700), (700, 531), (301, 531))
    )
    wide = [one.astype(np.float64) for one in (a, b, c)]
    wanted = [wide[0] @ wide[1], wide[2] @ wide[1].T, wide[0].T @ wide[2]]
    _compare(step, wanted, a, b, c)
    assert any("by copies of what they share" in line for line in step.explain())


@pytest.mark.cpu_code("tiles of registers are the CPU's")
def test_weights_of_a_convolution():
    ti.init(cpu_max_num_threads=1)
    x = te.placeholder((3, 4, 35, 37), name="x")
    w = te.placeholder((6, 4, 3, 3), name="w")
    c, r, s = te.reduce_axis(4), te.reduce_axis(3), te.reduce_axis(3)
    y = te.compute(
        (3, 6, 33, 35),
        lambda b, k, i, j: te.sum(x[b, c, i + r, j + s] * w[k, c, r, s], axis=(c, r, s)),
        name="y",
    )
    head = te.placeholder(y.shape, name="head")
    step = te.build(te.differentiate(y, [w], head=head)[0:1], [x, w, head])
    a, b, h = (RANDOM.standard_normal(one.shape).astype(np.float32) for one in (x, w, head))
    windows = np.lib.stride_tricks.sliding_window_view(a.astype(np.float64), (3, 3), (2, 3))
    _compare(step, [np.einsum("nchwrs,nkhw->kcrs", windows, h.astype(np.float64))], a, b, h)
    assert any("dot products" in line for line in step.explain())
