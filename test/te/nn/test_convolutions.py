"""Convolutions and their derivatives, held against sums by NumPy and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te.derivatives import given
from te.together import Array, Program, check_all

from mlirad.te import nn


def correlated(
    x: Array,
    w: Array,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    groups: int = 1,
    mode: str = "constant",
) -> Array:
    """A convolution of (batch, channels, ...), one point of the window after the other."""
    rank = x.ndim - 2
    steps, gaps = (np.broadcast_to(one, rank) for one in (stride, dilation))
    ends = padding if isinstance(padding, list) else [(padding, padding)] * rank
    padded: Array = np.pad(x, [(0, 0), (0, 0), *ends], mode=mode)  # type: ignore[call-overload]
    shape = (np.array(padded.shape[2:]) - (np.array(w.shape[2:]) - 1) * gaps - 1) // steps + 1
    outputs, each = w.shape[:2]
    y = np.zeros((len(x), outputs, *shape))
    for point in np.ndindex(*w.shape[2:]):
        first = point * gaps
        cut = [slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(first, shape, steps)]
        seen = padded[(slice(None), slice(None), *cut)]
        for k in range(outputs):
            start = k // (outputs // groups) * each
            weight = w[(k, slice(None), *point)]
            y[:, k] += np.einsum("nc...,c->n...", seen[:, start : start + each], weight)
    return y


# shapes of x and of the weight, options
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one axis": ((2, 3, 17), (4, 3, 3), {}),
    "causal": ((2, 3, 17), (4, 3, 3), {"padding": [(4, 0)], "dilation": 2}),
    "circular": ((2, 3, 17), (4, 3, 4), {"padding": [(2, 1)], "mode": "wrap"}),
    "strided": ((2, 4, 9, 11), (3, 4, 3, 3), {"stride": (2, 3)}),
    "dilated": ((2, 4, 9, 11), (3, 4, 3, 2), {"dilation": (3, 2)}),
    "both": ((2, 4, 9, 11), (3, 4, 2, 3), {"stride": (2, 3), "dilation": (3, 2)}),
    "padded": ((2, 4, 9, 11), (3, 4, 3, 3), {"padding": 1}),
    "padded on one side": (
        (2, 4, 9, 11),
        (3, 4, 3, 3),
        {"padding": [(2, 0), (0, 1)], "stride": 2},
    ),
    "groups": ((2, 4, 9, 11), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": ((2, 4, 9, 11), (8, 1, 3, 3), {"groups": 4}),
    "one by one": ((2, 4, 9, 11), (3, 4, 1, 1), {}),
    "around both axes": ((1, 2, 5, 6), (3, 2, 3, 3), {"padding": 1, "mode": "wrap"}),
    "three axes": ((1, 2, 5, 6, 7), (2, 2, 2, 3, 2), {}),
    "three axes, padded": (
        (1, 2, 5, 6, 7),
        (2, 2, 3, 3, 3),
        {"stride": (2, 1, 2), "padding": 1},
    ),
}
FULL = ("causal", "both", "padded on one side", "groups", "around both axes")


def _program(name: str) -> Program:
    shape, kernel, options = CASES[name]
    rank = len(shape) - 2
    x, w, bias = given(*shape), given(*kernel, name="w"), given(kernel[0], name="bias")
    named = dict(options)
    if named.get("mode") == "wrap":
        named["mode"] = "circular"
    if name == "causal":
        named["padding"] = "causal"
    y = (nn.conv1d, nn.conv2d, nn.conv3d)[rank - 1](x, w, bias, **named)

    def expected(image: Array, weight: Array, start: Array) -> Array:
        return correlated(image, weight, **options) + start.reshape(-1, *[1] * rank)

    return Program(y, [x, w, bias], expected, is_full=name in FULL)


def test_channels_last() -> None:
    """And "same", of a window of even extent."""
    x, w, y = given(2, 7, 8, 4), given(3, 2, 2, 6, name="w"), given(2, 5, 3, name="y")
    v = given(2, 3, 2, name="v")

    def two(image: Array, weight: Array) -> Array:
        first, kernel = np.moveaxis(image, -1, 1), weight.transpose(3, 2, 0, 1)
        found = correlated(first, kernel, (1, 2), padding=[(1, 1), (0, 1)], groups=2)
        return np.moveaxis(found, 1, -1)

    def one(line: Array, weight: Array) -> Array:
        found = correlated(line.swapaxes(1, 2), weight.transpose(2, 1, 0), padding=[(0, 1)])
        return found.swapaxes(1, 2)

    check_all(
        {
            "two axes": Program(
                nn.conv2d(x, w, None, (1, 2), [(1, 1), (0, 1)], groups=2, layout="NHWC"),
                [x, w],
                two,
            ),
            "one axis": Program(
                nn.conv1d(y, nn.slices(v, slice(2)), padding="same", layout="NWC"),
                [y, v],
                lambda a, c: one(a, c[:2]),
            ),
        }
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_convolutions(threads: int) -> None:
    """Half of the programs for each number of threads."""
    check_all(
        {name: _program(name) for name in list(CASES)[threads - 1 :: 2]},
        threads=(threads,),
        thirds=False,
    )
