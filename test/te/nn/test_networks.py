"""Programs of several operators, and their derivatives, held against NumPy and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from te.derivatives import given
from te.nn.test_convolutions import correlated
from te.nn.test_pools import windows
from te.together import Array, Program, check_all

import mlirad as ti
from mlirad import te
from mlirad.te import nn

RANDOM = np.random.default_rng(7)


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _images() -> dict[str, Program]:
    x, w, back = given(1, 2, 5, 5), given(5, 2, 3, 3, name="w"), given(2, 5, 3, 3, name="back")
    one, deep, last = given(1, name="one"), given(2, 2, 3, 3, name="deep"), given(4, 2, name="last")
    row = given(1, 50, name="row")
    inner = nn.conv2d(x, w, padding=1)
    both = nn.conv2d(nn.relu(inner), back)
    wide = nn.broadcast_to(one, (5, 2, 3, 3))
    block = nn.add(nn.conv2d(nn.relu(nn.conv2d(x, deep, padding=1)), deep, padding=1), x)
    scores = nn.log_softmax(nn.dense(nn.global_avg_pool(nn.relu(block)), last))

    def twice(v: Array, a: Array) -> Array:
        return correlated(_relu(correlated(v, a, padding=1)), a, padding=1) + v

    def scored(v: Array, a: Array, c: Array) -> Array:
        return special.log_softmax(_relu(twice(v, a)).mean((2, 3)) @ c.T, -1)

    return {
        "convolution": Program(inner, [x, w], lambda v, a: correlated(v, a, padding=1)),
        "convolution, relu, convolution": Program(
            both,
            [x, w, back],
            lambda v, a, c: correlated(_relu(correlated(v, a, padding=1)), c),
            is_full=True,
        ),
        "a weight from one number": Program(
            nn.conv2d(x, wide, padding=1),
            [x, one],
            lambda v, a: correlated(v, np.full((5, 2, 3, 3), a[0]), padding=1),
        ),
        "that weight twice": Program(
            nn.multiply(nn.conv2d(x, wide), nn.conv2d(x, wide)),
            [x, one],
            lambda v, a: correlated(v, np.full((5, 2, 3, 3), a[0])) ** 2,
        ),
        "means of a convolution": Program(
            nn.avg_pool2d(inner, 2),
            [x, w],
            lambda v, a: windows(correlated(v, a, padding=1), 2, 2).mean(-1),
        ),
        "maxima of a convolution": Program(
            nn.max_pool2d(inner, 2),
            [x, w],
            lambda v, a: windows(correlated(v, a, padding=1), 2, 2).max(-1),
        ),
        "a row added to all": Program(
            nn.add(nn.reshape(x, (50, 1)), row), [x, row], lambda v, r: v.reshape(50, 1) + r
        ),
        "a residual block": Program(nn.relu(block), [x, deep], lambda *a: _relu(twice(*a))),
        "its scores": Program(scores, [x, deep, last], scored),
    }


def _vectors() -> dict[str, Program]:
    x, w, bias = given(4, 5), given(6, 5, name="w"), given(6, name="bias")
    top, line = given(3, 6, name="top"), given(12, name="line")
    turned = given(2, 3, 3, name="turned")
    rows = te.placeholder((3,), ti.i32, "rows")
    labels = te.placeholder((4,), ti.i32, "labels")
    answers = np.array([0, 2, 2, 1], np.int32)
    layer = nn.dense(x, w, bias)
    two = nn.dense(nn.relu(layer), top)

    def dense(v: Array, a: Array, c: Array) -> Array:
        return v @ a.T + c

    def network(v: Array, a: Array, c: Array, d: Array) -> Array:
        return _relu(dense(v, a, c)) @ d.T

    def entropy(v: Array, a: Array, c: Array, d: Array, n: Array) -> Any:
        return -special.log_softmax(network(v, a, c, d), -1)[np.arange(4), n].mean()

    every = [x, w, bias]
    return {
        "dense": Program(layer, every, dense),
        "softmax of dense": Program(
            nn.softmax(layer), every, lambda *a: special.softmax(dense(*a), -1), is_full=True
        ),
        "sigmoid of dense": Program(nn.sigmoid(layer), every, lambda *a: special.expit(dense(*a))),
        "two layers": Program(
            nn.log_softmax(two), [*every, top], lambda *a: special.log_softmax(network(*a), -1)
        ),
        "its loss": Program(
            nn.cross_entropy(two, labels),
            [*every, top, labels],
            entropy,
            [
                *(RANDOM.normal(size=t.shape) for t in (*every, top)),
                answers,
            ],
            is_full=True,
        ),
        "products": Program(
            nn.matmul(nn.matmul(x, w, transpose_b=True), top, transpose_b=True),
            [x, w, top],
            lambda v, a, c: v @ a.T @ c.T,
        ),
        "products turned": Program(
            nn.batch_matmul(turned, nn.tanh(turned), True, True),
            [turned],
            lambda v: v.swapaxes(1, 2) @ np.tanh(v).swapaxes(1, 2),
        ),
        "softmax of all": Program(
            nn.softmax(nn.reshape(line, (3, 4)), 0),
            [line],
            lambda v: special.softmax(v.reshape(3, 4), 0),
        ),
        "rows taken": Program(
            nn.tanh(nn.take(x, rows)),
            [x, rows],
            lambda v, n: np.tanh(v[n]),
            [RANDOM.normal(size=(4, 5)), np.array([3, 1, 3], np.int32)],
        ),
        "columns taken": Program(
            nn.multiply(nn.take(x, rows, 1), nn.take(x, rows, -1)),
            [x, rows],
            lambda v, n: v[:, n] ** 2,
            [RANDOM.normal(size=(4, 5)), np.array([4, 0, 4], np.int32)],
        ),
        "differences and quotients": Program(
            nn.divide(nn.subtract(x, nn.mean(x, 0, True)), nn.exp(x)),
            [x],
            lambda v: (v - v.mean(0)) / np.exp(v),
        ),
    }


def test_images() -> None:
    check_all(_images())


def test_vectors() -> None:
    check_all(_vectors(), threads=(1,))
