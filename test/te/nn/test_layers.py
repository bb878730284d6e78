"""Layers, losses and lookups, and their derivatives, held against NumPy and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special
from te.derivatives import given
from te.nn.test_convolutions import correlated
from te.together import Array, Program, check_all

import mlirad as ti
from mlirad import te
from mlirad.te import nn

SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
RANDOM = np.random.default_rng(13)


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


ACTIVATIONS: dict[str, tuple[Callable[..., te.Tensor], Callable[[Array], Array]]] = {
    "relu": (nn.relu, lambda x: np.maximum(x, 0)),
    "relu6": (nn.relu6, lambda x: np.clip(x, 0, 6)),
    "leaky relu": (nn.leaky_relu, lambda x: np.where(x > 0, x, 0.01 * x)),
    "elu": (nn.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "selu": (
        nn.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    "sigmoid": (nn.sigmoid, special.expit),
    "tanh": (nn.tanh, np.tanh),
    "exp": (nn.exp, np.exp),
    "gelu": (nn.gelu, lambda x: x * special.ndtr(x)),
    "softplus": (nn.softplus, lambda x: np.logaddexp(0, x)),
    "softsign": (nn.softsign, lambda x: x / (1 + abs(x))),
    "silu": (nn.silu, lambda x: x * special.expit(x)),
    "mish": (nn.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "log sigmoid": (nn.log_sigmoid, lambda x: np.log(special.expit(x))),
    "hard sigmoid": (nn.hard_sigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hard swish": (nn.hard_swish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
}


def test_functions_of_each_element() -> None:
    x = given(4, 5)
    check_all(
        {
            name: Program(
                own(x), [x], expected, is_full=name in ("softplus", "gelu", "mish", "elu")
            )
            for name, (own, expected) in ACTIVATIONS.items()
        }
    )


def _normal(x: Array, axes: Any, epsilon: float = 1e-5) -> Array:
    middle = x.mean(axes, keepdims=True)
    return (x - middle) / np.sqrt(((x - middle) ** 2).mean(axes, keepdims=True) + epsilon)


def _norms() -> dict[str, Program]:
    x, scale, shift = given(3, 4, 5), given(4, name="scale"), given(4, name="shift")
    last, both = given(5, name="last"), given(4, 5, name="both")
    seen, spread = given(4, name="mean"), given(4, name="variance")
    column = (slice(None), None)

    def inferred(v: Array, a: Array, m: Array, s: Array) -> Array:
        return (v - m[column]) / np.sqrt(s[column] + 1e-5) * a[column]

    return {
        "batches": Program(
            nn.batch_norm(x, scale, shift),
            [x, scale, shift],
            lambda v, a, c: _normal(v, (0, 2)) * a[column] + c[column],
            is_full=True,
        ),
        "given moments": Program(
            nn.batch_norm(x, scale, mean=seen, variance=spread),
            [x, scale, seen, spread],
            inferred,
            [RANDOM.normal(size=one.shape) for one in (x, scale, seen)] + [np.arange(1.0, 5.0)],
        ),
        "layers": Program(
            nn.layer_norm(x, last, last),
            [x, last],
            lambda v, a: _normal(v, 2) * a + a,
            is_full=True,
        ),
        "layers of two axes": Program(
            nn.layer_norm(x, both, axes=2), [x, both], lambda v, a: _normal(v, (1, 2)) * a
        ),
        "groups": Program(
            nn.group_norm(x, 2, scale, shift),
            [x, scale, shift],
            lambda v, a, c: (
                _normal(v.reshape(3, 2, 10), 2).reshape(3, 4, 5) * a[column] + c[column]
            ),
        ),
        "instances": Program(nn.instance_norm(x), [x], lambda v: _normal(v, 2)),
        "roots of mean squares": Program(
            nn.rms_norm(x, last),
            [x, last],
            lambda v, a: v / np.sqrt((v**2).mean(2, keepdims=True) + 1e-5) * a,
            is_full=True,
        ),
    }


def test_norms() -> None:
    check_all(_norms(), threads=(1,))


def _attended(q: Array, k: Array, v: Array, is_causal: bool) -> Array:
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    return np.einsum("bhij,bhjc->bhic", special.softmax(scores, -1), v)


def test_attention() -> None:
    q, k, v = given(2, 4, 16, 8, name="q"), given(2, 4, 16, 8, name="k"), given(2, 4, 16, 8)
    short, wide = given(1, 2, 3, 4, name="short"), given(1, 2, 5, 4, name="wide")
    check_all(
        {
            "whole": Program(nn.attention(q, k, v), [q, k, v], lambda *one: _attended(*one, False)),
            "causal": Program(
                nn.attention(q, k, v, causal=True), [q, k, v], lambda *one: _attended(*one, True)
            ),
            "of two lengths": Program(
                nn.attention(short, wide, nn.tanh(wide), causal=True),
                [short, wide],
                lambda a, c: _attended(a, c, np.tanh(c), True),
                is_full=True,
            ),
        }
    )


def _reductions() -> dict[str, Program]:
    x = given(4, 5, 3)
    functions = {
        "sum": (nn.sum, np.sum),
        "prod": (nn.prod, np.prod),
        "max": (nn.max, np.max),
        "min": (nn.min, np.min),
        "mean": (nn.mean, np.mean),
        "variance": (nn.variance, np.var),
        "logsumexp": (nn.logsumexp, special.logsumexp),
    }
    found = {
        name: Program(own(x, axis), [x], lambda v, f=f, axis=axis: f(v, axis=axis))
        for (name, (own, f)), axis in zip(functions.items(), [1, (0, 2), -1, None, 0, (1, 2), 1])
    }
    length = (x, lambda v: np.sqrt((v**2).sum((0, 1), keepdims=True)))
    return found | {
        "norm": Program(nn.norm(x, (0, 1), keepdims=True), [x], length[1], is_full=True),
        "unit": Program(nn.l2_normalize(x, (0, 1)), [x], lambda v: v / length[1](v)),
        "softmax": Program(nn.softmax(x, 1), [x], lambda v: special.softmax(v, 1), is_full=True),
        "log softmax": Program(
            nn.log_softmax(x), [x], lambda v: special.log_softmax(v, -1), is_full=True
        ),
    }


def test_reductions() -> None:
    check_all(_reductions())


def test_exponentials_do_not_overflow() -> None:
    x, head = given(2, 3), given(2)
    k = te.reduce_axis(3)
    y = te.compute((2,), lambda i: te.logsumexp(x[i, k], axis=k, where=k >= i))
    started = te.compute((2,), lambda i: te.logsumexp(x[i, k], axis=k, init=x[i, 0] + 1))
    none = te.compute((2,), lambda i: te.logsumexp(x[i, k], axis=k, where=k > 5))
    f = te.build([y, *te.differentiate(y, [x], head), started, none], [x, head])
    value = np.array([[1000.0, 1000, -1000], [7, -2e3, -2e3]])
    sums, slopes, begun, empty = f(value, np.array([1.0, 2]))
    np.testing.assert_allclose(sums, [1000 + np.log(2), np.log(2) - 2e3], rtol=1e-14)
    np.testing.assert_allclose(slopes, [[0.5, 0.5, 0], [0, 1, 1]], rtol=1e-12)
    np.testing.assert_allclose(begun, [1000 + np.log(2 + np.e), 7 + np.log(1 + np.e)], rtol=1e-14)
    np.testing.assert_array_equal(empty, -np.inf)


def _losses() -> dict[str, Program]:
    x, y = given(5, 4), given(5, 4, name="y")
    labels = te.placeholder((5,), ti.i32, "labels")
    own = np.array([0, 3, 3, 1, 2], np.int32)
    values, targets = RANDOM.normal(size=(5, 4)), RANDOM.uniform(0.1, 0.9, (5, 4))
    rows = special.log_softmax(values, 1)
    pair = [values, targets]
    far = 1.5 * values - targets
    return {
        "cross entropy": Program(
            nn.cross_entropy(x, labels),
            [x, labels],
            lambda v, n: -special.log_softmax(v, 1)[np.arange(5), n].mean(),
            [values, own],
            is_full=True,
        ),
        "soft": Program(
            nn.soft_cross_entropy(x, y), [x, y], lambda v, t: -(rows * t).sum(1).mean(), pair
        ),
        "binary": Program(
            nn.binary_cross_entropy(x, y),
            [x, y],
            lambda v, t: (
                -np.mean(t * np.log(special.expit(v)) + (1 - t) * np.log(special.expit(-v)))
            ),
            pair,
        ),
        "squares": Program(nn.mse_loss(x, y), [x, y], lambda v, t: np.mean((v - t) ** 2), pair),
        "absolute": Program(nn.l1_loss(x, y), [x, y], lambda v, t: abs(v - t).mean(), pair),
        "huber": Program(
            nn.huber_loss(te.compute((5, 4), lambda i, j: 1.5 * x[i, j]), y),
            [x, y],
            lambda v, t: np.where(abs(far) <= 1, far**2 / 2, abs(far) - 0.5).mean(),
            pair,
        ),
        "hinge": Program(
            nn.hinge_loss(x, y), [x, y], lambda v, t: np.maximum(1 - v * t, 0).mean(), pair
        ),
    }


def test_losses() -> None:
    check_all(_losses(), threads=(1, 2))


def _lookups() -> dict[str, Program]:
    table, x, updates = given(50, 8, name="table"), given(4, 5, 3), given(6, 5, 3, name="updates")
    words = te.placeholder((2, 7), ti.i32, "words")
    places, segments = (te.placeholder((6,), ti.i32, name) for name in ("places", "segments"))
    across = te.placeholder((4, 2, 3), ti.i32, "across")
    said = RANDOM.integers(0, 50, (2, 7)).astype(np.int32)
    said[1, :3] = said[0, 0]
    where, parts = np.array([0, 3, 3, 1, 0, 3], np.int32), np.array([0, 0, 4, 1, 4, 4], np.int32)
    some = RANDOM.integers(0, 5, (4, 2, 3)).astype(np.int32)
    values, more = RANDOM.normal(size=(4, 5, 3)), RANDOM.normal(size=(6, 5, 3))

    def added(v: Array, n: Array, u: Array) -> Array:
        found = v.copy()
        np.add.at(found, n, u)
        return found

    return {
        "embedding": Program(
            nn.embedding(words, table),
            [words, table],
            lambda n, v: v[n],
            [said, RANDOM.normal(size=(50, 8))],
            is_full=True,
        ),
        "take": Program(nn.take(x, places, 1), [x, places], lambda v, n: v[:, n], [values, where]),
        "gather": Program(
            nn.gather(x, across, 1),
            [x, across],
            lambda v, n: np.take_along_axis(v, n, 1),
            [values, some],
        ),
        "scatter": Program(
            nn.scatter_add(x, places, updates), [x, places, updates], added, [values, where, more]
        ),
        "scatter squares": Program(
            nn.scatter_add(x, places, te.compute(updates.shape, lambda *i: updates[i] ** 2)),
            [x, places, updates],
            lambda v, n, u: added(v, n, u**2),
            [values, where, more],
            is_full=True,
        ),
        "segments": Program(
            nn.segment_sum(updates, segments, 5),
            [updates, segments],
            lambda u, n: added(np.zeros((5, 5, 3)), n, u),
            [more, parts],
        ),
    }


def test_lookups() -> None:
    check_all(_lookups(), threads=(1, 2))


def test_one_hot_and_dropout() -> None:
    labels, mask = (te.placeholder((5,), ti.i32, name) for name in ("labels", "mask"))
    x, head = given(5), given(5)
    y = nn.dropout(x, mask, 0.75)
    f = te.build(
        [nn.one_hot(labels, 3, ti.f64), y, *te.differentiate(y, [x], head)], [labels, mask, x, head]
    )
    kept = np.array([1, 0, 0, 1, 1], np.int32)
    hot, dropped, slope = f(np.array([2, 0, 1, 1, 2], np.int32), kept, np.arange(5.0), np.ones(5))
    np.testing.assert_array_equal(hot, np.eye(3)[[2, 0, 1, 1, 2]])
    np.testing.assert_array_equal(dropped, 4 * kept * np.arange(5))
    np.testing.assert_array_equal(slope, 4 * kept)


def _transposed(x: Array, w: Array, stride: Any, padding: int, groups: int = 1) -> Array:
    """Zeros between the elements, and the window turned."""
    rank, each = x.ndim - 2, w.shape[0] // groups
    steps = np.broadcast_to(stride, rank)
    wide = np.zeros((*x.shape[:2], *((np.array(x.shape[2:]) - 1) * steps + 1)))
    wide[(slice(None), slice(None), *(slice(None, None, step) for step in steps))] = x
    turned = np.flip(w, tuple(range(2, w.ndim)))
    turned = np.concatenate(
        [turned[g * each : (g + 1) * each].swapaxes(0, 1) for g in range(groups)]
    )
    ends = [(size - 1 - padding, size - 1 - padding) for size in w.shape[2:]]
    return correlated(wide, turned, padding=ends, groups=groups)


def test_transposed_convolutions() -> None:
    line, kernel = given(2, 3, 7, name="line"), given(3, 4, 5, name="kernel")
    image, window = given(1, 4, 4, 3, name="image"), given(4, 3, 3, 3, name="window")
    bias = given(6, name="bias")
    check_all(
        {
            "stride 3": Program(
                nn.conv1d_transpose(line, kernel, stride=3),
                [line, kernel],
                lambda x, w: _transposed(x, w, 3, 0),
                is_full=True,
            ),
            "groups, padded": Program(
                nn.conv2d_transpose(image, window, bias, (2, 1), 1, groups=2),
                [image, window, bias],
                lambda x, w, b: _transposed(x, w, (2, 1), 1, 2) + b[:, None, None],
            ),
            "longer": Program(
                nn.conv1d_transpose(line, kernel, stride=2, padding=1, output_padding=1),
                [line, kernel],
                lambda x, w: _transposed(x, w, 2, 0)[..., 1:],
            ),
            "longer than the stride, below the dilation": Program(
                nn.conv1d_transpose(line, kernel, output_padding=2, dilation=3),
                [line, kernel],
                lambda x, w: np.pad(_transposed(x, _dilated(w, 3), 1, 0), ((0, 0), (0, 0), (0, 2))),
            ),
        }
    )


def _dilated(w: np.ndarray[Any, Any], gap: int) -> np.ndarray[Any, Any]:
    wide = np.zeros((*w.shape[:2], (w.shape[2] - 1) * gap + 1))
    wide[..., ::gap] = w
    return wide


def test_transposed_convolutions_as_torch_has_them() -> None:
    torch: Any = pytest.importorskip("torch")
    x, w, b = given(1, 2, 4, 3), given(2, 3, 2, 2, name="w"), given(3, name="b")
    random = np.random.default_rng(2)
    values = [random.normal(size=one.shape) for one in (x, w, b)]
    for stride, padding, more, dilation in ((1, 0, 1, 2), (2, 1, 2, 3), (3, 1, 2, 1), (1, 0, 2, 3)):
        y = nn.conv2d_transpose(x, w, b, stride, padding, more, dilation)
        head = given(*y.shape, name="head")
        tensors = [torch.tensor(value, requires_grad=True) for value in values]
        wanted = torch.nn.functional.conv_transpose2d(
            *tensors, stride, padding, more, dilation=dilation
        )
        above = random.normal(size=wanted.shape)
        wanted.backward(torch.tensor(above))
        step = te.build([y, *te.differentiate(y, [x, w, b], head)], [x, w, b, head])
        gradients = (one.grad for one in tensors)
        for own, expected in zip(step(*values, above), (wanted.detach(), *gradients)):
            np.testing.assert_allclose(own, expected, atol=1e-12)
    for stride, more, dilation in ((1, 1, 1), (2, 2, 1)):
        with pytest.raises(ti.TaichiTypeError, match="output_padding"):
            nn.conv2d_transpose(x, w, b, stride, 0, more, dilation)
