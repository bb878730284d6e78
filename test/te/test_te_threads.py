"""Tensors that two threads define, differentiate, build and call at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

import mlirad as ti
from mlirad import te


def _program(rows: int, factor: int) -> None:
    x, w = te.placeholder((rows, 6), ti.f64), te.placeholder((6, 4), ti.f64)
    k, head = te.reduce_axis(6), te.placeholder((rows, 4), ti.f64)
    product = te.compute((rows, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
    y = te.compute((rows, 4), lambda i, j: te.tanh(product[i, j]) * factor)
    step = te.build([y, *te.differentiate(y, [x, w], head)], [x, w, head])
    random = np.random.default_rng(rows)
    a, c, h = (random.normal(size=shape) for shape in ((rows, 6), (6, 4), (rows, 4)))
    slope = np.tanh(a @ c)
    heads = h * factor * (1 - slope**2)
    for found, expected in zip(step(a, c, h), (slope * factor, heads @ c.T, a.T @ heads)):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_two_threads() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)
    both = Barrier(2)

    def work(factor: int) -> None:
        both.wait()
        for rows in (3, 4, 5):
            _program(rows, factor)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, factor) for factor in (1, 2)]:
            done.result()
