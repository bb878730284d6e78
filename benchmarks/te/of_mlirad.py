"""Our programs, as tensor expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad as ti
from benchmarks.te.cases import Case
from mlirad import te

Run = Callable[[], list[np.ndarray]]


def program(case: Case) -> Run:
    """A function of no arguments, which writes to arrays of its own."""
    tensors = [te.placeholder(shape, name=name) for name, shape in case.shapes.items()]
    outputs = _PROGRAMS[case.kind](case, *tensors)
    step = te.build(outputs, tensors)
    arrays = case.arrays()
    out = [np.zeros(one.shape, np.float32) for one in outputs]
    return lambda: step(*arrays, out=out)


def start(threads: int) -> None:
    """The options of all programs."""
    ti.init(cpu_max_num_threads=threads, offline_cache=False)


def _results(case: Case, y: Any, head: Any, inputs: dict[str, Any]) -> list[Any]:
    wanted = case.wanted.split(", ")
    asked = [one for one in wanted if one.startswith("d")]
    found = te.differentiate(y, [inputs[one] for one in asked], head=head) if asked else []
    adjoints = dict(zip(asked, found))
    return [adjoints.get(one, y) for one in wanted]


def _matmul(case: Case, x: Any, w: Any, head: Any) -> list[Any]:
    rows, depth = x.shape
    k = te.reduce_axis(depth, "k")
    y = te.compute((rows, w.shape[1]), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), "y")
    return _results(case, y, head, {"dx": x, "dw": w})


def _conv2d(case: Case, x: Any, w: Any, head: Any) -> list[Any]:
    stride, dilation = case.stride, case.dilation
    c, r, s = (te.reduce_axis(extent) for extent in w.shape[1:])

    def element(n: Any, k: Any, i: Any, j: Any) -> Any:
        place = i * stride + r * dilation, j * stride + s * dilation
        return te.sum(x[n, c, *place] * w[k, c, r, s], axis=(c, r, s))

    y = te.compute(head.shape, element, "y")
    return _results(case, y, head, {"dx": x, "dw": w})


def _transposed(case: Case, x: Any, w: Any, head: Any) -> list[Any]:
    """The input gradient of a strided convolution."""
    weights = te.compute(
        (w.shape[1], w.shape[0], 3, 3), lambda c, k, r, s: w[k, c, r, s], "weights"
    )
    larger = te.placeholder(head.shape, name="larger")
    k, r, s = (te.reduce_axis(extent) for extent in (w.shape[0], 3, 3))
    forward = te.compute(
        x.shape,
        lambda n, c, i, j: te.sum(
            larger[n, k, 2 * i + r, 2 * j + s] * weights[c, k, r, s], axis=(k, r, s)
        ),
    )
    (y,) = te.differentiate(forward, [larger], head=x)
    return _results(case, y, head, {"dx": x, "dw": w})


def _softmax(case: Case, x: Any, head: Any) -> list[Any]:
    return _results(case, _softmax_of(x), head, {"dx": x})


def _softmax_of(x: Any) -> Any:
    *rows, length = x.shape
    k, other = te.reduce_axis(length), te.reduce_axis(length)
    highest = te.compute(rows, lambda *at: te.max(x[*at, k], axis=k), "highest")
    raised = te.compute(x.shape, lambda *at: te.exp(x[at] - highest[at[:-1]]), "raised")
    total = te.compute(rows, lambda *at: te.sum(raised[*at, other], axis=other), "total")
    return te.compute(x.shape, lambda *at: raised[at] / total[at[:-1]], "softmax")


def _attention(case: Case, q: Any, k: Any, v: Any, head: Any) -> list[Any]:
    batch, length, width = q.shape
    d, t = te.reduce_axis(width), te.reduce_axis(length)
    scores = te.compute(
        (batch, length, length),
        lambda n, i, j: te.sum(q[n, i, d] * k[n, j, d], axis=d),
        "products",
    )
    scaled = te.compute(scores.shape, lambda *at: scores[at] * width**-0.5, "scores")
    weights = _softmax_of(scaled)
    y = te.compute(q.shape, lambda n, i, e: te.sum(weights[n, i, t] * v[n, t, e], axis=t), "y")
    return _results(case, y, head, {"dq": q, "dk": k, "dv": v})


def _network(case: Case, x: Any, w1: Any, w2: Any, w3: Any, target: Any) -> list[Any]:
    first = _relu(_layer(x, w1))
    second = _relu(_layer(first, w2))
    f = te.reduce_axis(16 * 4 * 4)
    logits = te.compute(
        target.shape,
        lambda n, o: te.sum(second[n, f // 16, f // 4 % 4, f % 4] * w3[f, o], axis=f),
        "logits",
    )
    chances = _softmax_of(logits)
    n, o = te.reduce_axis(target.shape[0]), te.reduce_axis(10)
    loss = te.compute(
        (), lambda: te.sum((chances[n, o] - target[n, o]) ** 2 / 64.0, axis=(n, o)), "loss"
    )
    return _results(case, loss, None, {"dw1": w1, "dw2": w2, "dw3": w3})


def _layer(x: Any, w: Any) -> Any:
    c, r, s = (te.reduce_axis(extent) for extent in w.shape[1:])
    batch, _, height, width = x.shape
    return te.compute(
        (batch, w.shape[0], height - 2, width - 2),
        lambda n, k, i, j: te.sum(x[n, c, i + r, j + s] * w[k, c, r, s], axis=(c, r, s)),
        "layer",
    )


def _relu(x: Any) -> Any:
    return te.compute(x.shape, lambda *at: te.relu(x[at]), "relu")


_PROGRAMS: dict[str, Callable[..., list[Any]]] = {
    "matmul": _matmul,
    "conv2d": _conv2d,
    "transposed": _transposed,
    "softmax": _softmax,
    "attention": _attention,
    "network": _network,
}
