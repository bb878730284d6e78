"""Operators: gradients of their own, batches of any size, types, what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special
from te.derivatives import given
from te.nn.test_convolutions import correlated

import mlirad as ti
from mlirad import te
from mlirad.te import nn


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


def test_there_are_forty() -> None:
    own = [getattr(nn, name) for name in nn.__all__]
    assert len([one for one in own if hasattr(one, "def_gradient")]) >= 90
    for one in own:
        assert one.__doc__ and one.__name__ in nn.__all__


def test_an_operator_with_a_gradient_of_its_own() -> None:
    x, w, head = given(1, 1, 4, 4), given(2, 1, 1, 1, name="w"), given(1, 2, 2, 2)

    def everywhere(y: te.Tensor, inputs: list[te.Tensor], h: te.Tensor) -> te.Tensor:
        """To the whole window."""
        return te.compute(inputs[0].shape, lambda n, c, i, j: h[n, c, i // 2, j // 2])

    nn.max_pool2d.def_gradient(everywhere)
    y = nn.max_pool2d(nn.conv2d(x, w), 2)
    nn.max_pool2d.def_gradient(None)
    usual = nn.max_pool2d(nn.conv2d(x, w), 2)
    both = [one for own in (y, usual) for one in te.differentiate(own, [x], head)]
    value, kernel = np.arange(16.0).reshape(1, 1, 4, 4), np.array([1.0, 10]).reshape(2, 1, 1, 1)
    other, first = te.build(both, [x, w, head])(value, kernel, np.ones((1, 2, 2, 2)))
    np.testing.assert_array_equal(other, 11)
    np.testing.assert_array_equal(first[0, 0], [[0, 0, 0, 0], [0, 11, 0, 11]] * 2)


def test_a_list_of_tensors_has_a_gradient() -> None:
    a, c, head = given(2), given(3, name="c"), given(5)

    def tenfold(y: te.Tensor, inputs: list[te.Tensor], h: te.Tensor) -> list[te.Tensor]:
        return [te.compute(one.shape, lambda i: 10 * h[0]) for one in inputs]

    nn.concat.def_gradient(tenfold)
    joined = nn.concat([a, c])
    nn.concat.def_gradient(None)
    for own in te.build(list(te.differentiate(joined, [a, c], head)), [head])(np.ones(5)):
        np.testing.assert_array_equal(own, 10)


def test_batches_of_any_size() -> None:
    n = te.var("n")
    x, w = given(n, 2, 6, 5), given(4, 2, 3, 3, name="w")
    scale, top = given(4, name="scale"), given(3, 4, name="top")
    hidden = nn.max_pool2d(nn.relu(nn.conv2d(x, w, padding=1)), 2)
    scores = nn.softmax(nn.dense(nn.global_avg_pool(nn.batch_norm(hidden, scale)), top))
    head = given(n, 3)
    every = [x, w, scale, top]
    f = te.build([scores, *te.differentiate(scores, every, head)], [*every, head])
    random = np.random.default_rng(3)
    weights = [random.normal(size=one.shape) for one in every[1:]]
    for size in (1, 4):
        images, above = random.normal(size=(size, 2, 6, 5)), random.normal(size=(size, 3))
        along = [random.normal(size=one.shape) for one in (images, *weights)]
        found, *slopes = f(images, *weights, above)

        def moved(step: float, images: Any = images, along: Any = along) -> Any:
            return [one + step * way for one, way in zip([images, *weights], along)]

        conv = correlated(images, weights[0], padding=1)
        pooled = np.maximum(conv, 0).reshape(size, 4, 3, 2, 5)[..., :4]
        pooled = pooled.reshape(size, 4, 3, 2, 2, 2).max((3, 5))
        centred = pooled - pooled.mean((0, 2, 3), keepdims=True)
        normal = centred / np.sqrt((centred**2).mean((0, 2, 3), keepdims=True) + 1e-5)
        normal = normal * weights[1][:, None, None]
        wanted = special.softmax(normal.mean((2, 3)) @ weights[2].T, -1)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
        ends = [(f(*moved(step), above)[0] * above).sum() for step in (1e-6, -1e-6)]
        product = sum((slope * way).sum() for slope, way in zip(slopes, along))
        np.testing.assert_allclose(product, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def test_types() -> None:
    """Of f16 sums are kept in f32, and results are rounded once."""

    def network(dtype: Any) -> Any:
        shapes = ((2, 3, 8, 8), (4, 3, 3, 3), (4,))
        every = [te.placeholder(shape, dtype) for shape in shapes]
        y = nn.layer_norm(nn.gelu(nn.conv2d(*every, padding="same")), axes=2)
        z = nn.log_softmax(nn.flatten(nn.avg_pool2d(y, 2)))
        head = te.placeholder(z.shape, dtype)
        return te.build([z, *te.differentiate(z, every, head)], [*every, head])

    exact = network(ti.f64)
    random = np.random.default_rng(4)
    for dtype, tolerance in ((ti.f32, 2e-5), (ti.f16, 3e-2)):
        f, own = network(dtype), np.dtype(dtype.numpy)
        values = [(0.3 * random.normal(size=one.shape)).astype(own) for one in f.inputs]
        for found, expected in zip(f(*values), exact(*(one.astype(float) for one in values))):
            assert found.dtype == own
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def _wrong() -> dict[str, tuple[Callable[[], Any], str]]:
    x, w, n = given(2, 4, 9, 9), given(6, 4, 3, 3, name="w"), te.var("n")
    rows, table = te.placeholder((5,), ti.i32, "rows"), given(7, 3, name="table")
    line = given(n, 4, name="line")
    conv, pool = nn.conv2d, nn.max_pool2d
    return {
        "channels": (lambda: conv(given(2, 3, 9, 9), w), "channels of images and of weights are 3"),
        "axes": (
            lambda: conv(table, w),
            r"conv2d expected images of 4 axes \(NCHW\) as x, got Tensor",
        ),
        "no tensor": (lambda: conv(x, 3), "conv2d: weight is 3, expected a tensor"),
        "groups": (lambda: conv(x, w, groups=4), "4 groups do not divide 6 outputs"),
        "channels of groups": (lambda: conv(x, w, groups=2), "channels of a group.*are 2 and 4"),
        "no groups": (lambda: conv(x, w, groups=0), "groups=0 is not a valid number of groups"),
        "bias": (lambda: conv(x, w, given(5)), r"the bias must have shape \(6,\), got Tensor"),
        "layout": (lambda: conv(x, w, layout="CHWN"), "'CHWN' is neither 'NCHW' nor 'NHWC'"),
        "mode": (lambda: conv(x, w, mode="mirror"), "neither 'zeros' nor 'circular'"),
        "stride": (
            lambda: conv(x, w, stride=0),
            "stride=0: expected an integer of at least 1",
        ),
        "strides": (lambda: conv(x, w, stride=(1, 1, 1)), "or one for each of 2 axes"),
        "padding": (lambda: conv(x, w, padding="full"), "padding='full': expected an integer"),
        "no window fits": (lambda: conv(x, w, dilation=5), "reaches over 11 elements does not fit"),
        "kernel of a size": (
            lambda: conv(x, given(6, 4, n, 3)),
            "extent n.* must be a number, as",
        ),
        "windows of padding": (
            lambda: pool(x, 2, padding=2),
            "has windows that contain only padding",
        ),
        "transposed": (
            lambda: nn.conv2d_transpose(x, given(4, 2, 3, 3), output_padding=1),
            "output_padding=1 must be less than stride=1",
        ),
        "dense": (lambda: nn.dense(table, given(2, 4)), "inputs of x and of weight are 3 and 4"),
        "matmul": (lambda: nn.matmul(table, table), "summed over are 3 and 7"),
        "attention": (lambda: nn.attention(x, x, w), "batches are 2 and 6"),
        "axis": (lambda: nn.softmax(x, 4), "softmax: axis=4 is not one of 4 axes"),
        "axis twice": (lambda: nn.sum(x, (1, -3)), "names an axis twice"),
        "reshape": (lambda: nn.reshape(x, (3, 9)), "have different numbers of elements"),
        "reshape of a size": (lambda: nn.reshape(line, (3, -1)), r"shape is \(3, -1\): no extent"),
        "a size behind another": (lambda: nn.flatten(given(4, n), 0), "n.* must be a number"),
        "transpose": (lambda: nn.transpose(table, (0, 0)), "names an axis twice"),
        "concat": (lambda: nn.concat([x, w]), "extents 2 are 9 and 3"),
        "nothing to concat": (
            lambda: nn.concat([]),
            "concat expected a list of at least one tensor",
        ),
        "stack": (lambda: nn.stack([table, line]), "each tensor must have shape"),
        "split": (lambda: nn.split(table, 2), "2 does not split 7 elements"),
        "slices": (lambda: nn.slices(table, 7), "which=7 is not one of 7 elements"),
        "mirror": (
            lambda: nn.pad(table, [0, 3], "reflect"),
            "mirror of 3 elements cannot fill 3",
        ),
        "pad": (lambda: nn.pad(table, [1]), "expected a pair for each of 2 axes"),
        "shuffle": (lambda: nn.pixel_shuffle(x, 3), "3² does not divide 4 channels"),
        "norm": (lambda: nn.group_norm(x, 3), "3 groups do not divide 4 channels"),
        "half of the moments": (lambda: nn.batch_norm(x, mean=given(4)), "both mean and variance"),
        "scale": (lambda: nn.layer_norm(x, given(4)), r"scale must have shape \(9,\)"),
        "an array": (lambda: nn.relu(np.ones(3)), "relu: x is a ndarray, expected a tensor"),
        "no channels": (lambda: nn.batch_norm(rows), r"expected a tensor \(batch, channels, ...\)"),
        "no rate": (lambda: nn.dropout(rows, rows, 1.0), "rate=1.0 is not from 0 up to 1"),
        "reshape a size": (lambda: nn.reshape(line, (2, 6)), "or merge a size that is not known"),
        "mirror of a size": (
            lambda: nn.pad(line, [1, 0], "reflect"),
            "must be a number, because it is mirrored",
        ),
        "part": (lambda: nn.part(table, 3, 5), "does not have 5 elements from 3 on"),
        "mask": (lambda: nn.dropout(x, rows, 0.5), "the mask must have shape"),
        "labels": (lambda: nn.cross_entropy(given(5, 3), given(5)), "expected integers as labels"),
        "other labels": (lambda: nn.cross_entropy(table, rows), r"labels must have shape \(7,\)"),
        "indices": (lambda: nn.take(table, table), "take expected integers as indices"),
        "updates": (
            lambda: nn.scatter_add(table, rows, table),
            r"updates must have shape \(5, 3\)",
        ),
        "segments": (lambda: nn.segment_sum(table, rows, 3), "rows and segments are 5 and 7"),
        "spread": (lambda: nn.add(table, given(2, 3)), "7 and 2 elements along an axis"),
        "broadcast": (lambda: nn.broadcast_to(table, (7, 4)), r"cannot become \(7, 4\)"),
        "unpool": (lambda: nn.max_unpool2d(x, x, 2), r"the pool of the images must have shape"),
        "circular without size": (
            lambda: nn.conv1d(given(1, 1, n), given(1, 1, 3), padding=1, mode="circular"),
            "extent n.* must be a number, because padding is circular",
        ),
    }


@pytest.mark.parametrize("name", _wrong())
def test_errors(name: str) -> None:
    make, message = _wrong()[name]
    with pytest.raises(ti.TaichiTypeError) as caught:
        make()
    line, *_ = str(caught.value).splitlines()  # without the source, which may hold the pattern
    assert __file__ in line and re.search(message, line)
