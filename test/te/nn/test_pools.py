"""Pools and their derivatives, held against windows of NumPy and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import given
from te.together import Array, Program, check_all

import mlirad as ti
from mlirad import te
from mlirad.te import nn


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


def windows(x: Array, kernel: Any, stride: Any, padding: Any = 0, value: float = 0.0) -> Array:
    """The elements of each window, along the last axis."""
    rank = x.ndim - 2
    sizes, steps = (tuple(np.broadcast_to(one, rank)) for one in (kernel, stride))
    ends = padding if isinstance(padding, list) else [(padding, padding)] * rank
    padded = np.pad(x, [(0, 0), (0, 0), *ends], constant_values=value)
    axes = tuple(range(2, 2 + rank))
    views = np.lib.stride_tricks.sliding_window_view(padded, sizes, axes)
    cut = views[(slice(None), slice(None), *(slice(None, None, step) for step in steps))]
    return cut.reshape(*cut.shape[: 2 + rank], -1)


def _adaptive(function: Any, size: tuple[int, ...]) -> Callable[[Array], Array]:
    def pooled(x: Array) -> Array:
        y = np.empty((*x.shape[:2], *size))
        for at in np.ndindex(*size):
            cut = [
                slice(i * n // m, -((-(i + 1) * n) // m)) for i, n, m in zip(at, x.shape[2:], size)
            ]
            y[(slice(None), slice(None), *at)] = function(
                x[(slice(None), slice(None), *cut)], axis=tuple(range(2, x.ndim))
            )
        return y

    return pooled


def _means(x: Array, *where: Any) -> Array:
    return windows(x, *where).sum(-1) / windows(np.ones_like(x), *where).sum(-1)


def _unpooled(y: Array, x: Array) -> Array:
    places = windows(np.arange(x.size).reshape(x.shape), 3, 2)
    chosen = windows(x, 3, 2).argmax(-1)[..., None]
    found = np.zeros(x.size)
    np.add.at(found, np.take_along_axis(places, chosen, -1)[..., 0].astype(int), y)
    return found.reshape(x.shape)


def _programs() -> dict[str, Program]:
    x, line, box = given(2, 3, 9, 8), given(2, 3, 11), given(1, 2, 4, 5, 6)
    last, small = given(2, 7, 6, 3), given(2, 3, 4, 3, name="y")
    uneven, below = [(1, 0), (0, 1)], float("-inf")
    return {
        "maxima": Program(nn.max_pool2d(x, 2), [x], lambda v: windows(v, 2, 2).max(-1)),
        "maxima that overlap": Program(
            nn.max_pool2d(x, 3, 2, 1),
            [x],
            lambda v: windows(v, 3, 2, 1, below).max(-1),
            is_full=True,
        ),
        "maxima along a line": Program(
            nn.max_pool1d(line, 3, 1), [line], lambda v: windows(v, 3, 1).max(-1)
        ),
        "maxima of boxes": Program(
            nn.max_pool3d(box, (2, 3, 2), (1, 2, 3)),
            [box],
            lambda v: windows(v, (2, 3, 2), (1, 2, 3)).max(-1),
        ),
        "maxima with gaps": Program(
            nn.max_pool1d(line, 2, 1, dilation=3),
            [line],
            lambda v: np.maximum(v[..., :-3], v[..., 3:]),
        ),
        "means": Program(
            nn.avg_pool2d(x, 3, 2, 1), [x], lambda v: windows(v, 3, 2, 1).mean(-1), is_full=True
        ),
        "means without padding": Program(
            nn.avg_pool2d(x, (3, 2), 2, uneven, count_padding=False),
            [x],
            lambda v: _means(v, (3, 2), 2, uneven),
        ),
        "means along a line": Program(
            nn.avg_pool1d(line, 3, 2), [line], lambda v: windows(v, 3, 2).mean(-1)
        ),
        "means of boxes, channels last": Program(
            nn.avg_pool2d(last, 2, layout="NHWC"),
            [last],
            lambda v: np.moveaxis(windows(np.moveaxis(v, -1, 1), 2, 2).mean(-1), 1, -1),
        ),
        "norms": Program(
            nn.l2_pool2d(x, 2, 2),
            [x],
            lambda v: np.linalg.norm(windows(v, 2, 2), axis=-1),
            is_full=True,
        ),
        "whole means": Program(nn.global_avg_pool(x), [x], lambda v: v.mean((2, 3))),
        "whole maxima": Program(nn.global_max_pool(x), [x], lambda v: v.max((2, 3))),
        "adaptive means": Program(
            nn.adaptive_avg_pool(x, (4, 3)), [x], _adaptive(np.mean, (4, 3)), is_full=True
        ),
        "adaptive maxima": Program(nn.adaptive_max_pool(x, (4, 8)), [x], _adaptive(np.max, (4, 8))),
        "adaptive means that divide": Program(
            nn.adaptive_avg_pool(x, (3, 4)), [x], _adaptive(np.mean, (3, 4))
        ),
        "back to where maxima were": Program(
            nn.max_unpool2d(small, x, 3, 2), [small, x], _unpooled
        ),
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_pools(threads: int) -> None:
    """Half of the programs for each number of threads."""
    programs = list(_programs().items())
    check_all(dict(programs[threads - 1 :: 2]), threads=(threads,))


def test_the_first_of_equal_numbers_gets_the_derivative() -> None:
    x, head = given(1, 1, 4, 4), given(1, 1, 3, 3)
    y = nn.max_pool2d(x, 2, 1)
    (found,) = te.build(list(te.differentiate(y, [x], head)), [x, head])(
        np.ones((1, 1, 4, 4)), np.ones((1, 1, 3, 3))
    )
    np.testing.assert_array_equal(found[0, 0], np.pad(np.ones((3, 3)), ((0, 1), (0, 1))))
