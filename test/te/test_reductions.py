"""Gradients of reductions, contractions, convolutions, pools and recurrences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from te.derivatives import check, given, reduced

import mlirad as ti
from mlirad import te


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


AXES = [(0,), (1,), (2,), (0, 1, 2)]


def _reduced(function: Any, x: te.Tensor, over: tuple[int, ...]) -> te.Tensor:
    """A reduction of x over some of its axes."""
    axes = {axis: te.reduce_axis(x.shape[axis]) for axis in over}
    kept = [axis for axis in range(x.ndim) if axis not in over]

    def element(*indices: Any) -> Any:
        place = dict(zip(kept, indices)) | axes
        return function(x[tuple(place[axis] for axis in range(x.ndim))], tuple(axes.values()))

    return te.compute(tuple(x.shape[axis] for axis in kept), element)


@pytest.mark.parametrize("over", AXES)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "logsumexp", "norm"])
def test_reductions(name: str, over: tuple[int, ...]) -> None:
    x = given(6, 7, 8)
    count = float(np.prod([x.shape[axis] for axis in over]))
    functions = {
        "sum": lambda v, k: te.sum(v * v, axis=k),
        "mean": lambda v, k: te.sum(v, axis=k) / count,
        "prod": lambda v, k: te.prod(1.0 + 0.1 * v, axis=k),
        "max": lambda v, k: te.max(v * v, axis=k),
        "min": lambda v, k: te.min(v * v, axis=k),
        "logsumexp": lambda v, k: te.log(te.sum(te.exp(v), axis=k)),
        "norm": lambda v, k: te.sqrt(te.sum(v * v, axis=k)),
    }
    found = check(_reduced(functions[name], x, over), [x])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_with_zeros(zeros: int) -> None:
    x, head = given(3, 5), given(3)
    k = te.reduce_axis(5)
    y = te.compute((3,), lambda i: te.prod(x[i, k], axis=k))
    value = np.random.default_rng(zeros).uniform(1, 2, (3, 5))
    value[1, :zeros] = 0
    (found,) = te.build(list(te.differentiate(y, [x], head=head)), [x, head])(value, np.ones(3))
    expected = [[np.prod(np.delete(row, j)) for j in range(5)] for row in value]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_first_of_equal_numbers_has_the_derivative() -> None:
    x, head = given(4), given()
    k = te.reduce_axis(4)
    value = np.array([1.0, 3.0, 3.0, 1.0])
    for function, place in ((te.max, 1), (te.min, 0)):
        y = te.compute((), lambda f=function: f(x[k], axis=k))
        (found,) = te.build(list(te.differentiate(y, [x], head=head)), [x, head])(
            value, np.array(1.0)
        )
        np.testing.assert_array_equal(found, np.eye(4)[place])


def test_places_of_extremes() -> None:
    x = given(5, 3, 4)
    a, c = reduced(3, 4)
    most = te.compute((5,), lambda i: te.argmax(x[i, a, c], axis=(a, c)))
    least = te.compute((5,), lambda i: te.argmin(x[i, a, c], axis=(a, c)))
    value = np.random.default_rng(2).integers(0, 5, (5, 3, 4)).astype(float)
    value[2, 1, 3] = np.nan
    found = te.build([most, least], [x])(value)
    np.testing.assert_array_equal(found[0], value.reshape(5, 12).argmax(1))
    np.testing.assert_array_equal(found[1], value.reshape(5, 12).argmin(1))


def test_where_and_init() -> None:
    x, start = given(6, 7), given(6, name="start")
    k = te.reduce_axis(7)
    some = te.compute((6,), lambda i: te.sum(x[i, k] ** 2, axis=k, where=k > i, init=start[i] ** 2))
    value, first = np.random.default_rng(3).normal(size=(6, 7)), np.arange(6.0)
    found = check(some, [x, start], [value, first])
    np.testing.assert_allclose(found, np.triu(value**2, 1).sum(1) + first**2)


@pytest.mark.parametrize("name", ["prod", "max", "min"])
def test_what_products_and_extremes_begin_with(name: str) -> None:
    x, start = given(6, 7), given(6, name="start")
    k = te.reduce_axis(7)
    function = {"prod": te.prod, "max": te.max, "min": te.min}[name]
    y = te.compute((6,), lambda i: function(x[i, k], axis=k, where=k < i, init=te.sin(start[i])))
    values = [np.random.default_rng(k).normal(size=one.shape) for k, one in enumerate((x, start))]
    found = check(y, [x, start], values, second=True)
    combine = {"prod": np.multiply, "max": np.maximum, "min": np.minimum}[name]
    wanted = [combine.reduce([np.sin(values[1][i]), *values[0][i, :i]]) for i in range(6)]
    np.testing.assert_allclose(found, wanted)


def test_what_an_extreme_begins_with_is_the_first_of_equal_numbers() -> None:
    x, head = given(4), given()
    k = te.reduce_axis(4)
    y = te.compute((), lambda: te.max(x[k], axis=k, init=x[3]))
    (found,) = te.build(list(te.differentiate(y, [x], head)), [x, head])(np.ones(4), np.array(1.0))
    np.testing.assert_array_equal(found, [0, 0, 0, 1])


def test_numbers_that_exp_cannot_hold() -> None:
    x, head = given(3, 5), given(3)
    k, m = reduced(5, 5)
    top = te.compute((3,), lambda i: te.max(x[i, k], axis=k))
    y = te.compute((3,), lambda i: top[i] + te.log(te.sum(te.exp(x[i, m] - top[i]), axis=m)))
    values = np.array([[1e3, 1e3, 0, 0, 0], [-1e3, 0, 1, 2, 1e3], [-1e3] * 5])
    found, slope = te.build([y, *te.differentiate(y, [x], head)], [x, head])(values, np.ones(3))
    np.testing.assert_allclose(found, [1e3 + np.log(2), 1e3, np.log(5) - 1e3])
    wanted = [[0.5, 0.5, 0, 0, 0], [0, 0, 0, 0, 1], [0.2] * 5]
    np.testing.assert_allclose(slope, wanted, atol=1e-12)


def test_combiners() -> None:
    x = given(10, 4)
    k, both = te.reduce_axis(10), reduced(10, 4)
    joined = te.comm_reducer(lambda a, b: a + b + a * b, lambda dtype: 0.0)
    values = np.random.default_rng(4).normal(size=(10, 4))
    found = check(te.compute((4,), lambda i: joined(0.3 * x[k, i], axis=k)), [x], [values])
    np.testing.assert_allclose(found, np.prod(1 + 0.3 * values, axis=0) - 1)
    check(te.compute((), lambda: joined(0.1 * x[both[0], both[1]], axis=both)), [x], [values])


def test_a_variance_by_pairs() -> None:
    """Chan, Golub and LeVeque, 1979."""
    x = given(10, 4)
    k = te.reduce_axis(4)

    def together(a: Any, b: Any) -> Any:
        count, shift = a[0] + b[0], b[1] - a[1]
        safe = te.max(count, 1.0)
        mean = (a[0] * a[1] + b[0] * b[1]) / safe
        return count, mean, a[2] + b[2] + shift * shift * a[0] * b[0] / safe

    moments = te.comm_reducer(together, lambda *dtypes: (0.0, 0.0, 0.0))
    y = te.compute((10,), lambda i: moments((1.0, x[i, k], 0.0 * x[i, k]), axis=k)[2])
    values = np.random.default_rng(6).normal(size=(10, 4))
    np.testing.assert_allclose(check(y, [x], [values]), 4 * values.var(1), rtol=1e-12)


CONVOLUTIONS = list(product((1, 2, 3), repeat=3))


@pytest.mark.parametrize(("stride", "dilation", "kernel"), CONVOLUTIONS)
def test_convolutions(stride: int, dilation: int, kernel: int) -> None:
    x, w = given(1, 2, 10, 10), given(3, 2, kernel, kernel, name="w")
    c, r, s = reduced(2, kernel, kernel)
    extent = (10 - (kernel - 1) * dilation - 1) // stride + 1
    y = te.compute(
        (1, 3, extent, extent),
        lambda n, k, i, j: te.sum(
            x[n, c, stride * i + dilation * r, stride * j + dilation * s] * w[k, c, r, s],
            axis=(c, r, s),
        ),
    )
    check(y, [x, w])


def test_a_transposed_convolution() -> None:
    x, w = given(2, 3, 7), given(3, 4, 5, name="w")
    c, r, i = reduced(3, 5, 7)
    y = te.compute(
        (2, 4, 23),
        lambda n, k, t: te.sum(x[n, c, i] * w[c, k, r], axis=(c, i, r), where=3 * i + r == t),
    )
    check(y, [x, w])


@pytest.mark.parametrize(("kernel", "stride"), [*product((1, 2, 3), repeat=2)])
def test_pools(kernel: int, stride: int) -> None:
    x = given(1, 2, 10, 10)
    r, s = reduced(kernel, kernel)
    extent = (10 - kernel) // stride + 1
    y = te.compute(
        (1, 2, extent, extent),
        lambda n, c, i, j: te.max(x[n, c, stride * i + r, stride * j + s], axis=(r, s)),
    )
    check(y, [x])


CONTRACTIONS = {
    "ij,jk->ik": ((17, 33), (33, 9)),
    "ji,jk->ik": ((33, 17), (33, 9)),
    "ij,kj->ik": ((17, 33), (9, 33)),
    "bij,bjk->bik": ((3, 4, 5), (3, 5, 6)),
    "i,j->ij": ((5,), (7,)),
    "ijk->": ((3, 4, 5),),
    "ii->": ((6, 6),),
    "ii->i": ((6, 6),),
    "bij,bjk,bkl->bil": ((2, 3, 4), (2, 4, 3), (2, 3, 5)),
    "abc,ai,bj,ck->ijk": ((3, 4, 5), (3, 2), (4, 2), (5, 2)),
}


@pytest.mark.parametrize("formula", CONTRACTIONS)
def test_contractions(formula: str) -> None:
    inputs = [given(*shape, name=f"x{k}") for k, shape in enumerate(CONTRACTIONS[formula])]
    values = [np.random.default_rng(k).normal(size=x.shape) for k, x in enumerate(inputs)]
    found = check(te.einsum(formula, *inputs), inputs, values)
    np.testing.assert_allclose(found, np.einsum(formula, *values), rtol=1e-12)


def test_recurrences() -> None:
    x, start, other = given(10, 4), given(4, name="start"), given(4, name="other")
    values = [
        np.random.default_rng(k).normal(size=v.shape) for k, v in enumerate((x, start, other))
    ]
    squares = te.scan(10, start, lambda t, h, i: 0.1 * h[i] ** 2 + x[t, i])
    found = check(squares, [x, start], values[:2])
    expected = [values[1]]
    for row in values[0]:
        expected.append(0.1 * expected[-1] ** 2 + row)
    np.testing.assert_allclose(found, expected)
    turning = te.scan(
        10,
        [start, other],
        lambda t, s, i: (s[0][i] * te.cos(s[1][i]), s[1][i] + s[0][i] * x[t, i]),
    )
    check(
        te.compute((4,), lambda i: turning[0][10, i] * turning[1][7, i]), [x, start, other], values
    )


def test_a_recurrence_from_all_to_all() -> None:
    x, w, start = given(5, 4), given(4, 4, name="w"), given(4, name="start")
    k = te.reduce_axis(4)
    h = te.scan(5, start, lambda t, h, i: te.tanh(te.sum(w[i, k] * h[k], axis=k) + x[t, i]))
    check(h, [x, w, start])


def test_softmax_and_layers() -> None:
    x, w, b = given(5, 6), given(6, 4, name="w"), given(4, name="b")
    k, m, s = reduced(6, 4, 4)
    y = te.compute((5, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k) + b[j])
    shifted = te.compute((5, 4), lambda i, j: te.exp(y[i, j] - te.max(y[i, m], axis=m)))
    soft = te.compute((5, 4), lambda i, j: shifted[i, j] / te.sum(shifted[i, s], axis=s))
    found = check(soft, [x, w, b])
    np.testing.assert_allclose(found.sum(1), 1)


def test_half_precision_is_summed_in_single() -> None:
    x, head = te.placeholder((4096,), ti.f16), te.placeholder((), ti.f16)
    k = te.reduce_axis(4096)
    y = te.compute((), lambda: te.sum(x[k], axis=k))
    step = te.build([y, *te.differentiate(y, [x], head=head)], [x, head])
    found, gradient = step(np.ones(4096, np.float16), np.array(1, np.float16))
    assert found == 4096  # summed in f16 it stays at 2048
    np.testing.assert_array_equal(gradient, 1)


@pytest.mark.cpu_code("tiles of registers are the CPU's")
def test_convolutions_and_their_gradients_are_tiles() -> None:
    """At sizes that fill no tile, in f32, where the borders of a gather are conditions."""
    ti.init(cpu_max_num_threads=1)
    x, w = te.placeholder((2, 16, 15, 37), name="x"), te.placeholder((13, 16, 3, 3), name="w")
    c, r, s = reduced(16, 3, 3)
    y = te.compute(
        (2, 13, 13, 35),
        lambda n, o, i, j: te.sum(x[n, c, i + r, j + s] * w[o, c, r, s], axis=(c, r, s)),
    )
    head = te.placeholder(y.shape, name="head")
    random = np.random.default_rng(8)
    image, window, above = (random.normal(size=t.shape).astype(np.float32) for t in (x, w, head))
    views = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
    padded = np.pad(above, ((0, 0), (0, 0), (2, 2), (2, 2)))
    around = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = (
        np.einsum("ncijrs,ocrs->noij", views, window),
        np.einsum("noijrs,ocrs->ncij", around, window[:, :, ::-1, ::-1]),
        np.einsum("ncijrs,noij->ocrs", views, above),
    )
    for one, values in zip((y, *te.differentiate(y, [x, w], head=head)), expected):
        f = te.build(one, [x, w, head])
        np.testing.assert_allclose(f(image, window, above), values, rtol=1e-4, atol=1e-3)
        assert any("in tiles of" in text for text in f.explain())
