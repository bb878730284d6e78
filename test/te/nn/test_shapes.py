"""Elements in other places, and their derivatives, held against NumPy and differences."""

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


def _bilinear(x: Array, size: tuple[int, int], is_aligned: bool) -> Array:
    """Element by element, in floats."""
    y = np.empty((*x.shape[:2], *size))
    last = np.array(x.shape[2:]) - 1
    for at in np.ndindex(*size):
        if is_aligned:
            place = np.array(at) * last / (np.array(size) - 1)
        else:
            place = np.clip((np.array(at) + 0.5) * (last + 1) / size - 0.5, 0, last)
        low = np.minimum(np.floor(place + 1e-12).astype(int), last)
        (a, c), (i, j), (k, m) = place - low, low, np.minimum(low + 1, last)
        rows = x[:, :, i] * (1 - a) + x[:, :, k] * a
        y[(slice(None), slice(None), *at)] = rows[..., j] * (1 - c) + rows[..., m] * c
    return y


def _columns(x: Array) -> Array:
    """3 by 2 windows at a stride of 2, padded by 1, channel by channel."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::2, ::2]
    return views.transpose(0, 1, 4, 5, 2, 3).reshape(len(x), x.shape[1] * 6, -1)


def _shuffled(x: Array) -> Array:
    n, c, h, w = x.shape
    parts = x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // 4, 2 * h, 2 * w)


def _programs() -> dict[str, Program]:
    x, row = given(4, 5, 6), given(7, name="row")
    a, c, image = given(2, 5, name="a"), given(3, 5, name="c"), given(1, 4, 4, 6, name="image")
    found: dict[str, tuple[te.Tensor, list[te.Tensor], Callable[..., Any]]] = {
        "flattened": (nn.flatten(x), [x], lambda v: v.reshape(4, 30)),
        "reshaped": (nn.reshape(x, (10, 12)), [x], lambda v: v.reshape(10, 12)),
        "reshaped in parts": (nn.reshape(x, (2, 2, 1, 30)), [x], lambda v: v.reshape(2, 2, 1, 30)),
        "transposed": (nn.transpose(x, (2, 0, 1)), [x], lambda v: v.transpose(2, 0, 1)),
        "turned": (nn.transpose(x), [x], lambda v: v.T),
        "expanded": (nn.expand_dims(x, -2), [x], lambda v: v[:, :, None]),
        "squeezed": (nn.squeeze(image), [image], lambda v: v[0]),
        "broadcast": (
            nn.broadcast_to(nn.expand_dims(row, 1), (3, 7, 2)),
            [row],
            lambda v: np.broadcast_to(v[:, None], (3, 7, 2)),
        ),
        "concatenated": (
            nn.concat([a, c, a]),
            [a, c],
            lambda v, w: np.concatenate([v, w, v]),
        ),
        "concatenated columns": (
            nn.concat([a, nn.tanh(a)], axis=1),
            [a],
            lambda v: np.concatenate([v, np.tanh(v)], 1),
        ),
        "split": (nn.split(x, [1, 3, 2], 2)[1], [x], lambda v: v[:, :, 1:4]),
        "split evenly": (nn.split(x, 2)[1], [x], lambda v: v[2:]),
        "stacked": (
            nn.stack([a, nn.relu(a), a], 1),
            [a],
            lambda v: np.stack([v, np.maximum(v, 0), v], 1),
        ),
        "tiled": (nn.tile(a, (3, 2)), [a], lambda v: np.tile(v, (3, 2))),
        "repeated": (nn.repeat(a, 3, 1), [a], lambda v: np.repeat(v, 3, 1)),
        "rolled": (nn.roll(x, -8, 1), [x], lambda v: np.roll(v, -8, 1)),
        "sliced": (
            nn.slices(x, slice(3, None, -2), 2, slice(1, 6, 3)),
            [x],
            lambda v: v[3::-2, 2, 1:6:3],
        ),
        "backwards": (nn.slices(row, slice(None, None, -1)), [row], lambda v: v[::-1]),
        "above the diagonal": (
            nn.triangle(x, 1, is_upper=True),
            [x],
            lambda v: np.triu(v, 1),
        ),
        "below the diagonal": (nn.triangle(x), [x], np.tril),
        "columns of windows": (nn.im2col(image, (3, 2), 2, 1), [image], _columns),
        "shuffled": (nn.pixel_shuffle(image, 2), [image], _shuffled),
        "shuffled back": (
            nn.pixel_unshuffle(nn.pixel_shuffle(image, 2), 2),
            [image],
            lambda v: v,
        ),
        "nearest": (
            nn.resize_nearest(image, (6, 5)),
            [image],
            lambda v: v[:, :, np.arange(6) * 4 // 6][..., np.arange(5) * 6 // 5],
        ),
        "bilinear": (
            nn.resize_bilinear(image, (7, 4)),
            [image],
            lambda v: _bilinear(v, (7, 4), False),
        ),
        "bilinear with corners": (
            nn.resize_bilinear(image, (7, 4), align_corners=True),
            [image],
            lambda v: _bilinear(v, (7, 4), True),
        ),
        "twice as large": (
            nn.upsample(image, 2),
            [image],
            lambda v: v.repeat(2, 2).repeat(2, 3),
        ),
    }
    for mode in ("constant", "edge", "reflect", "wrap"):
        found[f"padded: {mode}"] = (
            nn.pad(a, [(1, 0), (2, 4)], mode),
            [a],
            lambda v, m=mode: np.pad(v, [(1, 0), (2, 4)], mode=m),
        )
    full = ("reshaped", "concatenated", "stacked", "columns of windows", "bilinear", "sliced")
    return {
        name: Program(y, inputs, expected, is_full=name in full)
        for name, (y, inputs, expected) in found.items()
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_shapes(threads: int) -> None:
    """Half of the programs for each number of threads."""
    programs = list(_programs().items())
    check_all(dict(programs[threads - 1 :: 2]), threads=(threads,))


def test_batches_of_any_size() -> None:
    n = te.var("n")
    x, head = given(n, 3, 4), given(n, 12)
    y = nn.flatten(x)
    step = te.build([y, *te.differentiate(y, [x], head=head)], [x, head])
    for size in (1, 5):
        value = np.random.default_rng(size).normal(size=(size, 3, 4))
        flat, back = step(value, 2 * value.reshape(size, 12))
        np.testing.assert_array_equal(flat, value.reshape(size, 12))
        np.testing.assert_array_equal(back, 2 * value)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((2, 3, 4), -1),
        ((2, 3, 4), (-1,)),
        ((2, 3, 4), (4, -1)),
        ((2, 3, 4), (-1, 1, 8)),
        ((2, 3, 4), [3, -1, 2]),
        ((1, 1), (-1, 1, 1)),
        ((), (-1,)),
        ((0, 4), (-1, 2)),
        ((3, 0), (-1,)),
    ],
    ids=str,
)
def test_an_extent_that_is_left(shape: tuple[int, ...], wanted: Any) -> None:
    x, value = given(*shape), np.arange(float(np.prod(shape))).reshape(shape)
    y = nn.reshape(x, wanted)
    head = given(*y.shape, name="head")
    found, slope = te.build([y, *te.differentiate(y, [x], head)], [x, head])(
        value, value.reshape(wanted) * 3
    )
    np.testing.assert_array_equal(found, value.reshape(wanted))
    np.testing.assert_array_equal(slope, value * 3)


def test_an_extent_that_is_left_of_sizes() -> None:
    n = te.var("n")
    x, lines = given(n, 6), given(1, n, name="lines")
    made = [
        nn.reshape(x, (-1, 2, 3)),
        nn.reshape(x, (n, -1)),
        nn.reshape(x, (n, 2, -1)),
        nn.reshape(x, (-1,)),
        nn.reshape(x, (-1, 3)),
        nn.flatten(x, 0),
        nn.reshape(lines, (-1,)),
        nn.reshape(nn.reshape(x, (-1,)), (n, 6)),
    ]
    slope = te.differentiate(made[4], [x], given(*made[4].shape, name="head"))[0]
    step = te.build(made, [x, lines])
    for size in (0, 1, 5):
        value, line = np.arange(6.0 * size).reshape(size, 6), np.arange(float(size))[None]
        shapes = [(size, 2, 3), (size, 6), (size, 2, 3), (6 * size,), (2 * size, 3), (6 * size,)]
        wanted = [*map(value.reshape, shapes), line[0], value]
        for own, expected in zip(step(value, line), wanted):
            np.testing.assert_array_equal(own, expected)
    assert [*map(str, slope.shape)] == [*map(str, x.shape)]


@pytest.mark.parametrize("wanted", [(-1, -1), (5, -1), (0, -1), (-1, 7), (-2, 12)])
def test_an_extent_that_does_not_exist(wanted: tuple[int, ...]) -> None:
    with pytest.raises(ti.TaichiTypeError, match=r"reshape: (x and )?shape.*"):
        nn.reshape(given(2, 3, 4), wanted)
