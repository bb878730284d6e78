"""Programs whose gradients are sums over points: products, convolutions, pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlirad as ti
from mlirad import te

Program = Callable[[], tuple[te.Tensor, list[te.Tensor]]]  # an output, and what it is made of


def _given(*shape: int, name: str = "x", dtype: Any = ti.f32) -> te.Tensor:
    return te.placeholder(shape, dtype, name)


def matmul(transposed: str = "") -> tuple[te.Tensor, list[te.Tensor]]:
    """(17, 33, 9)."""
    n, m, p = 17, 33, 9
    a = _given(*((m, n) if "a" in transposed else (n, m)), name="a")
    c = _given(*((p, m) if "c" in transposed else (m, p)), name="c")
    k = te.reduce_axis(m)

    def element(i: Any, j: Any) -> Any:
        left = a[k, i] if "a" in transposed else a[i, k]
        return te.sum(left * (c[j, k] if "c" in transposed else c[k, j]), axis=k)

    return te.compute((n, p), element, "product"), [a, c]


def dense(batch: int, inputs: int, outputs: int) -> tuple[te.Tensor, list[te.Tensor]]:
    """A layer without a bias."""
    x, w = _given(batch, inputs), _given(outputs, inputs, name="w")
    k = te.reduce_axis(inputs)
    y = te.compute((batch, outputs), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), "dense")
    return y, [x, w]


def conv2d(
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    kernel: tuple[int, int] = (3, 3),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),  # above, below, left, right
    shape: tuple[int, int, int, int] = (2, 4, 9, 11),
    outputs: int = 3,
    groups: int = 1,
) -> tuple[te.Tensor, list[te.Tensor]]:
    """NCHW."""
    n, channels, height, width = shape
    own = channels // groups
    x, w = _given(*shape), _given(outputs, own, *kernel, name="w")
    high, wide = height + sum(padding[:2]), width + sum(padding[2:])

    def padded(b: Any, c: Any, i: Any, j: Any) -> Any:
        rows = (i >= padding[0]) & (i < padding[0] + height)
        columns = (j >= padding[2]) & (j < padding[2] + width)
        return te.select(rows & columns, x[b, c, i - padding[0], j - padding[2]], 0.0)

    source = te.compute((n, channels, high, wide), padded, "padded") if any(padding) else x
    c, r, s = te.reduce_axis(own), te.reduce_axis(kernel[0]), te.reduce_axis(kernel[1])
    rows = (high - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    columns = (wide - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    share = outputs // groups

    def element(b: Any, k: Any, i: Any, j: Any) -> Any:
        first = 0 if groups == 1 else k // share * own
        at = (stride[0] * i + dilation[0] * r, stride[1] * j + dilation[1] * s)
        return te.sum(source[b, first + c, at[0], at[1]] * w[k, c, r, s], axis=(c, r, s))

    return te.compute((n, outputs, rows, columns), element, "conv"), [x, w]


def conv1d(causal: bool = False) -> tuple[te.Tensor, list[te.Tensor]]:
    """(2, 3, 17), three taps; causal with what was before taken as 0."""
    x, w = _given(2, 3, 17), _given(4, 3, 3, name="w")
    c, r = te.reduce_axis(3), te.reduce_axis(3)
    if not causal:
        y = te.compute(
            (2, 4, 15), lambda b, k, i: te.sum(x[b, c, i + r] * w[k, c, r], axis=(c, r)), "conv"
        )
        return y, [x, w]
    padded = te.compute(
        (2, 3, 19), lambda b, k, i: te.select(i >= 2, x[b, k, i - 2], 0.0), "padded"
    )
    y = te.compute(
        (2, 4, 17), lambda b, k, i: te.sum(padded[b, c, i + r] * w[k, c, r], axis=(c, r)), "conv"
    )
    return y, [x, w]


def conv3d() -> tuple[te.Tensor, list[te.Tensor]]:
    """(1, 2, 5, 6, 7)."""
    x, w = _given(1, 2, 5, 6, 7), _given(3, 2, 2, 3, 3, name="w")
    c, q, r, s = (te.reduce_axis(extent) for extent in (2, 2, 3, 3))

    def element(b: Any, k: Any, h: Any, i: Any, j: Any) -> Any:
        return te.sum(x[b, c, h + q, i + r, j + s] * w[k, c, q, r, s], axis=(c, q, r, s))

    return te.compute((1, 3, 4, 4, 5), element, "conv"), [x, w]


def transposed() -> tuple[te.Tensor, list[te.Tensor]]:
    """Of stride 3: the points that reach an element are those whose distance 3 divides."""
    x, w = _given(2, 3, 5), _given(3, 4, 4, name="w")
    c, r = te.reduce_axis(3), te.reduce_axis(4)

    def element(b: Any, k: Any, i: Any) -> Any:
        at = (i - r) // 3
        inside = ((i - r) % 3 == 0) & (i >= r) & (at < 5)
        return te.sum(te.select(inside, x[b, c, at] * w[c, k, r], 0.0), axis=(c, r))

    return te.compute((2, 4, 16), element, "conv"), [x, w]


def last_channels() -> tuple[te.Tensor, list[te.Tensor]]:
    """NHWC."""
    x, w = _given(2, 9, 11, 4), _given(3, 3, 4, 3, name="w")
    c, r, s = te.reduce_axis(4), te.reduce_axis(3), te.reduce_axis(3)
    y = te.compute(
        (2, 7, 9, 3),
        lambda b, i, j, k: te.sum(x[b, i + r, j + s, c] * w[r, s, c, k], axis=(r, s, c)),
        "conv",
    )
    return y, [x, w]


def circular() -> tuple[te.Tensor, list[te.Tensor]]:
    """Behind the last element comes the first."""
    x, w = _given(2, 3, 17), _given(4, 3, 3, name="w")
    c, r = te.reduce_axis(3), te.reduce_axis(3)
    y = te.compute(
        (2, 4, 17),
        lambda b, k, i: te.sum(x[b, c, (i + r) % 17] * w[k, c, r], axis=(c, r)),
        "conv",
    )
    return y, [x, w]


def max_pool(kernel: int, stride: int) -> tuple[te.Tensor, list[te.Tensor]]:
    """(1, 2, 10, 10)."""
    x = _given(1, 2, 10, 10)
    r, s = te.reduce_axis(kernel), te.reduce_axis(kernel)
    extent = (10 - kernel) // stride + 1
    y = te.compute(
        (1, 2, extent, extent),
        lambda b, c, i, j: te.max(x[b, c, stride * i + r, stride * j + s], axis=(r, s)),
        "pool",
    )
    return y, [x]


def mean_pool() -> tuple[te.Tensor, list[te.Tensor]]:
    """Overlapping."""
    x = _given(2, 3, 9, 11)
    r, s = te.reduce_axis(3), te.reduce_axis(3)
    y = te.compute(
        (2, 3, 4, 5),
        lambda b, c, i, j: te.sum(x[b, c, 2 * i + r, 2 * j + s], axis=(r, s)) / 9.0,
        "pool",
    )
    return y, [x]


def embedding() -> tuple[te.Tensor, list[te.Tensor]]:
    """Rows of (50, 8)."""
    rows, table = _given(20, name="rows", dtype=ti.i32), _given(50, 8, name="table")
    y = te.compute((20, 8), lambda i, j: table[rows[i], j], "embedding")
    return y, [table, rows]


CONVOLUTIONS: dict[str, Program] = {
    "1-D": conv1d,
    "2-D": conv2d,
    "3-D": conv3d,
    "stride": lambda: conv2d(stride=(2, 3)),
    "dilation": lambda: conv2d(dilation=(3, 2)),
    "both": lambda: conv2d(stride=(2, 3), dilation=(3, 2)),
    "padding": lambda: conv2d(padding=(2, 0, 1, 2)),
    "groups": lambda: conv2d(groups=2, outputs=6),
    "depthwise": lambda: conv2d(groups=4, outputs=8),
    "1x1": lambda: conv2d(kernel=(1, 1)),
    "transposed": transposed,
    "causal": lambda: conv1d(causal=True),
    "NHWC": last_channels,
    "circular": circular,
}
