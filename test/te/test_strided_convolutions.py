"""Convolutions with strides, padding and dilation, large enough for tiles, beside NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te

# channels in and out, height and width, stride, padding, dilation
CASES = {
    "stride 2, padded": (7, 8, (12, 17), (2, 2), 1, (1, 1)),
    "strides 1 and 3, dilation 2": (6, 8, (9, 20), (1, 3), 1, (1, 2)),
    "stride 4, more than the window": (8, 6, (17, 23), (4, 4), 0, (1, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_any_batch(name: str) -> None:
    channels, outputs, extent, strides, padding, gaps = CASES[name]
    ti.init(cpu_max_num_threads=1)
    n = te.var("n")
    x = te.placeholder((n, channels, *extent), name="x")
    w = te.placeholder((outputs, channels, 3, 3), name="w")
    y = te.nn.conv2d(x, w, stride=strides, padding=padding, dilation=gaps)
    head = te.placeholder(y.shape, name="head")
    step = te.build([y, *te.differentiate(y, [x, w], head=head)], [x, w, head])
    size = [(e + 2 * padding - 2 * g - 1) // s + 1 for e, g, s in zip(extent, gaps, strides)]
    random = np.random.default_rng(3)
    for batch in (0, 1, 3):
        shapes = (batch, channels, *extent), (outputs, channels, 3, 3), (batch, outputs, *size)
        arrays = [random.standard_normal(shape) for shape in shapes]
        found = step(*(array.astype(np.float32) for array in arrays))
        for one, wanted in zip(found, _expected(*arrays, strides, padding, gaps)):
            np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-4)


def _expected(x: Any, w: Any, head: Any, strides: Any, padding: int, gaps: Any) -> list[Any]:
    """By a sum over the window, in f64."""
    wide = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded, dw = np.pad(x, wide), np.zeros_like(w)
    y, dx = np.zeros_like(head), np.zeros_like(padded)
    for place in product(range(3), repeat=2):
        at = [
            slice(r * gap, r * gap + (count - 1) * step + 1, step)
            for r, gap, count, step in zip(place, gaps, head.shape[2:], strides)
        ]
        part, weights = padded[:, :, *at], w[:, :, *place]
        y += np.einsum("ncij,kc->nkij", part, weights)
        dx[:, :, *at] += np.einsum("nkij,kc->ncij", head, weights)
        dw[:, :, *place] = np.einsum("ncij,nkij->kc", part, head)
    inside = slice(padding, -padding or None)
    return [y, dx[:, :, inside, inside], dw]
