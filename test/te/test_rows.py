"""Definitions over the same rows, made row by row in one loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te

pytestmark = pytest.mark.cpu_code("rows in its caches")


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def joined(step: Any) -> list[str]:
    return [line for line in step.explain() if "loops go through its rows together" in line]


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_a_number_that_a_call_decides(threads: int) -> None:
    ti.init(cpu_max_num_threads=threads)
    n = te.var("n")
    x = te.placeholder((n, 37), name="x")
    step = te.build(te.nn.softmax(x), [x])
    draw = np.random.default_rng(1)
    for rows in (0, 1, 5, 700):
        values = draw.standard_normal((rows, 37)).astype(np.float32)
        np.testing.assert_allclose(step(values), softmax(values), rtol=2e-6, atol=1e-7)
    assert len(joined(step)) == 1


def test_rows_of_several_axes() -> None:
    ti.init()
    x = te.placeholder((3, 4, 5, 6), name="x")
    head = te.placeholder((3, 4, 5, 6), name="head")
    y = te.nn.softmax(te.nn.softmax(x))
    step = te.build([y, *te.differentiate(y, [x], head=head)], [x, head])
    draw = np.random.default_rng(2)
    values, heads = (draw.standard_normal((3, 4, 5, 6)).astype(np.float32) for _ in range(2))
    y_value, dx = step(values, heads)
    np.testing.assert_allclose(y_value, softmax(softmax(values)), rtol=1e-5)
    first = softmax(values.astype(np.float64))
    second = softmax(first)

    def back(p: Any, h: Any) -> Any:
        return p * (h - (h * p).sum(-1, keepdims=True))

    np.testing.assert_allclose(dx, back(first, back(second, heads)), rtol=1e-3, atol=1e-7)
    assert joined(step)


def test_what_is_scheduled_is_a_loop_of_its_own() -> None:
    ti.init()
    x = te.placeholder((64, 32), name="x")
    e = te.compute((64, 32), lambda i, k: te.exp(x[i, k]), name="e")
    r = te.reduce_axis(32, name="r")
    s = te.compute((64,), lambda i: te.sum(e[i, r], axis=r), name="s")
    y = te.compute((64, 32), lambda i, k: e[i, k] / s[i], name="y")
    values = np.random.default_rng(3).standard_normal((64, 32)).astype(np.float32)
    found = []
    for schedule in ({}, {y: te.Schedule(parallel=("k",))}):
        step = te.build(y, [x], schedule=schedule)
        expected = np.exp(values) / np.exp(values).sum(1, keepdims=True)
        np.testing.assert_allclose(step(values), expected, rtol=2e-6)
        found.append([line.split(": ")[-1].split()[0] for line in joined(step)])
    assert found == [["3"], ["2"]]


def test_convolutions_stay_tiles() -> None:
    """Each image of a batch is a row of a kind, but its sum goes over more than that."""
    x, w = te.placeholder((4, 3, 8, 8), name="x"), te.placeholder((3, 3, 3, 3), name="w")
    y = te.nn.conv2d(te.nn.relu(te.nn.conv2d(x, w, padding=1)), w, padding=1)
    assert not joined(te.build(y, [x, w]))


@pytest.mark.parametrize("channels", [5, 16])
def test_a_dense_layer_of_flat_images(channels: int) -> None:
    """The adjoint of digits of an index is a sum over the outputs alone."""
    ti.init(cpu_max_num_threads=1)
    size = channels * 12
    x, w, head = (
        te.placeholder(shape, name=name)
        for shape, name in (((33, channels, 3, 4), "x"), ((size, 10), "w"), ((33, 10), "head"))
    )
    f = te.reduce_axis(size)
    y = te.compute(
        (33, 10), lambda n, o: te.sum(x[n, f // 12, f // 4 % 3, f % 4] * w[f, o], axis=f)
    )
    step = te.build([y, *te.differentiate(y, [x, w], head=head)], [x, w, head])
    random = np.random.default_rng(5)
    arrays = [random.standard_normal(one.shape).astype(np.float32) for one in (x, w, head)]
    flat = arrays[0].reshape(33, size)
    wanted = flat @ arrays[1], (arrays[2] @ arrays[1].T).reshape(x.shape), flat.T @ arrays[2]
    for one, expected in zip(step(*arrays), wanted):
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-4)
    assert "floordivsi" not in te.build(te.differentiate(y, [x], head=head), [w, head]).ir("field")
    if channels == 16:
        assert any("columns of" in line for line in step.explain())
