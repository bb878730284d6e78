"""Extents of 0, written or of a call: sums of nothing are 0, means NaN, and gradients have the
shapes of inputs. What has no result is refused by function and argument."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import given

import mlirad as ti
from mlirad import te
from mlirad.te import nn

Function = Callable[..., te.Tensor]
NAN, INF = np.nan, np.inf
# of x, (0, 3) or (3, 0), and their axis: what the axis of no elements comes down to
REDUCED: dict[str, tuple[Function, float]] = {
    "sum": (nn.sum, 0),
    "prod": (nn.prod, 1),
    "mean": (nn.mean, NAN),
    "variance": (nn.variance, NAN),
    "norm": (nn.norm, 0),
    "logsumexp": (nn.logsumexp, -INF),
}
LOSSES = (nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.hinge_loss, nn.binary_cross_entropy)
# of a tensor without elements: another one, of a shape
EMPTY: dict[str, tuple[Function, Callable[[tuple[int, ...]], tuple[int, ...]]]] = {
    "softmax": (nn.softmax, lambda s: s),
    "log_softmax": (nn.log_softmax, lambda s: s),
    "layer_norm": (nn.layer_norm, lambda s: s),
    "batch_norm": (nn.batch_norm, lambda s: s),
    "instance_norm": (nn.instance_norm, lambda s: s),
    "rms_norm": (nn.rms_norm, lambda s: s),
    "l2_normalize": (nn.l2_normalize, lambda s: s),
    "roll": (lambda x: nn.roll(nn.roll(x, 1), 2, axis=1), lambda s: s),
    "tile": (lambda x: nn.tile(x, (2, 3)), lambda s: (2 * s[0], 3 * s[1])),
    "repeat": (lambda x: nn.repeat(nn.repeat(x, 2), 3, axis=1), lambda s: (2 * s[0], 3 * s[1])),
    "transpose": (nn.transpose, lambda s: s[::-1]),
    "reshape": (lambda x: nn.reshape(x, (5, 0, 2)), lambda s: (5, 0, 2)),
    "flatten": (lambda x: nn.flatten(x, 0), lambda s: (0,)),
    "slices": (
        lambda x: nn.slices(x, slice(None, None, -1), slice(1, None, 2)),
        lambda s: (s[0], len(range(s[1])[1::2])),
    ),
    "concat": (lambda x: nn.concat([x, x]), lambda s: (2 * s[0], s[1])),
    "stack": (lambda x: nn.stack([x, x]), lambda s: (2, *s)),
    "triangle": (nn.triangle, lambda s: s),
    "multiply": (lambda x: nn.multiply(x, x), lambda s: s),
    "add": (lambda x: nn.add(x, te.compute((1, 1), lambda i, j: 1.0)), lambda s: s),
}


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=0)


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_tensors_without_elements(shape: tuple[int, int], is_symbolic: bool) -> None:
    size = te.var("n") if is_symbolic else 0
    x = given(*(extent or size for extent in shape))
    axis, other = shape.index(0), 1 - shape.index(0)
    y = given(*x.shape, name="y")
    none = [f(x, axis=axis) for f, _ in REDUCED.values()]
    rows = [f(x, axis=other) for f, _ in REDUCED.values()]
    losses = [f(x, y) for f in LOSSES]
    slopes = [te.differentiate(one, [x])[0] for one in losses]
    step = te.build([*none, *rows, *losses, *slopes], [x, y])
    found = iter(step(np.ones(shape), np.ones(shape)))
    for name, (_, value) in REDUCED.items():
        np.testing.assert_array_equal(next(found), np.full(3, value), err_msg=name)
    assert all(next(found).shape == (0,) for _ in REDUCED)
    assert all(np.isnan(next(found)) for _ in LOSSES)
    assert all(next(found).shape == shape for _ in LOSSES)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_operators_on_nothing(shape: tuple[int, int]) -> None:
    x = given(*shape)
    made = [function(x) for function, _ in EMPTY.values()]
    heads = [given(*one.shape, name="head") for one in made]
    slopes = [te.differentiate(y, [x], head)[0] for y, head in zip(made, heads)]
    outs = te.build([*made, *slopes], [x, *heads])(
        np.ones(shape), *(np.ones(head.shape) for head in heads)
    )
    for (name, (_, wanted)), out, slope in zip(EMPTY.items(), outs, outs[len(EMPTY) :]):
        assert out.shape == wanted(shape), name
        assert slope.shape == shape, name


def test_nothing_beside_something() -> None:
    none, x = given(0, 3, name="none"), given(2, 3)
    y = nn.concat([none, x, none])
    padded = nn.pad(none, [(1, 1), (0, 0)], value=7.0)
    chosen = te.compute((2, 3), lambda i, j: te.select(i < 0, none[i, j], x[i, j]))
    head = given(2, 3, name="head")
    slopes = te.differentiate(y, [none, x], head)
    found = te.build([y, padded, chosen, *slopes], [none, x, head])(
        np.ones((0, 3)), np.arange(6.0).reshape(2, 3), np.full((2, 3), 5.0)
    )
    np.testing.assert_array_equal(found[0], np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(found[1], np.full((2, 3), 7))
    np.testing.assert_array_equal(found[2], found[0])
    assert found[3].shape == (0, 3) and (found[4] == 5).all()


def test_products_and_windows() -> None:
    x, w, b = given(2, 0), given(3, 0, name="w"), given(3, name="b")
    images, none = given(0, 2, 4, 4, name="images"), given(2, 0, 4, 4, name="none")
    kernel, other = given(3, 2, 2, 2, name="kernel"), given(3, 0, 2, 2, name="other")
    queries = given(1, 2, 3, 4, name="queries")
    keys, values = (given(1, 2, 0, k, name=f"keys{k}") for k in (4, 5))
    rows = te.placeholder((0,), ti.i32, "rows")
    inputs = [x, w, b, images, none, kernel, other, queries, keys, values, rows]
    found = te.build(
        [
            nn.dense(x, w, b),
            nn.matmul(x, w, transpose_b=True),
            nn.conv2d(images, kernel, b),
            nn.conv2d(none, other, b),
            nn.max_pool2d(images, 2),
            nn.global_avg_pool(none),
            nn.attention(queries, keys, values),
            nn.embedding(rows, w),
            nn.segment_sum(nn.reshape(rows_of(rows), (0, 2)), rows, 3),
            nn.cross_entropy(nn.reshape(rows_of(rows), (0, 2)), rows),
            nn.group_norm(none, 2),
        ],
        inputs,
    )(*(np.full(one.shape, 2, one.dtype.numpy) for one in inputs))
    assert [out.shape for out in found[2:6]] == [(0, 3, 3, 3), (2, 3, 3, 3), (0, 2, 2, 2), (2, 0)]
    assert (found[0] == 2).all() and (found[1] == 0).all() and (found[3] == 2).all()
    assert found[6].shape == (1, 2, 3, 5) and (found[6] == 0).all()
    assert found[7].shape == (0, 0) and (found[8] == np.zeros((3, 2))).all()
    assert np.isnan(found[9]) and found[10].shape == (2, 0, 4, 4)


def rows_of(rows: te.Tensor) -> te.Tensor:
    return te.compute((*rows.shape, 2), lambda i, j: te.cast(rows[i], ti.f64))


def _refused() -> dict[str, tuple[Callable[[], Any], str]]:
    x, none = given(0, 3), given(2, 2, 0, 4)
    labels = te.placeholder((3,), ti.i64, "labels")
    return {
        "max": (lambda: nn.max(x, axis=0), "max: x is .*: a maximum of nothing"),
        "min": (lambda: nn.min(x), "min: x is .*: a minimum of nothing"),
        "global_max_pool": (lambda: nn.global_max_pool(none), "global_max_pool: x is"),
        "max_pool2d": (lambda: nn.max_pool2d(none, 2, padding=1), "max_pool2d: x is"),
        "adaptive": (lambda: nn.adaptive_avg_pool(none, 2), "adaptive_avg_pool: x is"),
        "conv2d": (lambda: nn.conv2d(none, given(1, 2, 1, 1)), "conv2d: x and weight: a window"),
        "kernel": (lambda: nn.conv2d(given(1, 1, 2, 2), given(1, 1, 0, 1)), "conv2d: weight is"),
        "resize": (lambda: nn.resize_bilinear(none, 2), "resize_bilinear: x is"),
        "upsample": (lambda: nn.upsample(none, 2), "upsample: x is"),
        "edge": (lambda: nn.pad(x, [1, 0], "edge"), "pad: x is .*mode='edge' has no element"),
        "wrap": (lambda: nn.pad(x, [1, 0], "wrap"), "pad: x is .*mode='wrap' has no element"),
        "embedding": (lambda: nn.embedding(labels, x), "embedding: indices is .*table has no"),
        "take": (lambda: nn.take(x, labels), "take: indices is .*x has no elements"),
        "classes": (lambda: nn.cross_entropy(given(3, 0), labels), "cross_entropy: labels is"),
        "reshape": (lambda: nn.reshape(x, (0, -1)), r"reshape: shape is \(0, -1\): no extent"),
        "a read": (lambda: te.compute((2,), lambda i: x[0, i]), "'x' is read, but has no elements"),
    }


@pytest.mark.parametrize("name", _refused())
def test_what_has_no_result(name: str) -> None:
    make, message = _refused()[name]
    with pytest.raises(ti.TaichiCompilationError) as caught:
        make()
    line, *_ = str(caught.value).splitlines()  # without the source, which may hold the pattern
    assert __file__ in line and re.search(message, line)
    assert "te.select" not in str(caught.value)


def test_as_torch_has_it() -> None:
    torch: Any = pytest.importorskip("torch")
    of = torch.nn.functional
    pairs: list[tuple[Function, Callable[..., Any]]] = [
        (lambda x, y: nn.mse_loss(x, y), of.mse_loss),
        (lambda x, y: nn.soft_cross_entropy(x, y), of.cross_entropy),
        (lambda x, y: nn.mean(x, axis=0), lambda x, y: x.mean(0)),
        (
            lambda x, y: nn.variance(x, axis=1),
            lambda x, y: ((x - x.mean(1, keepdim=True)) ** 2).mean(1),
        ),
        (lambda x, y: nn.softmax(x), lambda x, y: x.softmax(-1)),
        (lambda x, y: nn.logsumexp(x, axis=1), lambda x, y: x.logsumexp(1)),
        (lambda x, y: nn.layer_norm(x), lambda x, y: of.layer_norm(x, x.shape[1:])),
        (lambda x, y: nn.concat([x, y, x], 1), lambda x, y: torch.cat([x, y, x], 1)),
        (lambda x, y: nn.reshape(x, (-1,)), lambda x, y: x.reshape(-1)),
        (lambda x, y: nn.tile(x, (2, 1)), lambda x, y: x.repeat(2, 1)),
        (lambda x, y: nn.matmul(x, y, transpose_b=True), lambda x, y: x @ y.T),
    ]
    for shape in ((0, 3), (3, 0), (1, 1)):
        x, y = given(*shape), given(*shape, name="y")
        made = [ours(x, y) for ours, _ in pairs]
        heads = [given(*one.shape, name="head") for one in made]
        slopes = [te.differentiate(one, [x], head)[0] for one, head in zip(made, heads)]
        arrays = [np.full(one.shape, 0.5) for one in (x, y, *heads)]
        outs = te.build([*made, *slopes], [x, y, *heads])(*arrays)
        for (_, theirs), out, slope in zip(pairs, outs, outs[len(pairs) :]):
            given_x = torch.full(shape, 0.5, dtype=torch.float64, requires_grad=True)
            wanted = theirs(given_x, torch.full(shape, 0.5, dtype=torch.float64))
            wanted.backward(torch.full(wanted.shape, 0.5, dtype=torch.float64))
            np.testing.assert_allclose(out, wanted.detach(), atol=1e-12)
            np.testing.assert_allclose(slope, given_x.grad, atol=1e-12)
