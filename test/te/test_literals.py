"""Numbers without a type of their own take the type of what they meet, and `default_fp` if that is
nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import given

import mlirad as ti
from mlirad import te
from mlirad.ir.elementary.table import ELEMENTARY

UNARY: dict[str, Callable[[float], float]] = {
    **{row.name: row.python for row in ELEMENTARY if row.arity == 1 and row.name != "acosh"},
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "gelu": lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    "normal_density": lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "abs": abs,
    "relu": lambda x: max(x, 0.0),
}


def reciprocals(reduce: Callable[..., Any]) -> Any:
    k = te.reduce_axis(5)
    return reduce(1.0 / (k + 1), axis=k)


# of an index and a size, to what Python has for these
EXPRESSIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[int, int], float]]] = {
    "a power": (lambda i, n: te.pow(2.0, 0.3), lambda i, n: 2**0.3),
    "a power of integers": (lambda i, n: te.pow(3, -1), lambda i, n: 1 / 3),
    "an angle": (lambda i, n: te.atan2(1, 3), lambda i, n: math.atan2(1, 3)),
    "nested": (
        lambda i, n: te.exp(te.sin(0.3) * 0.7) - 1,
        lambda i, n: math.exp(math.sin(0.3) * 0.7) - 1,
    ),
    "an index": (lambda i, n: i * 0.1, lambda i, n: i * 0.1),
    "a quotient of indices": (lambda i, n: (i + 1) / 3, lambda i, n: (i + 1) / 3),
    "a size": (lambda i, n: 1.0 / n, lambda i, n: 1 / n),
    "a choice": (lambda i, n: te.select(i > 1, 0.1, 0.3), lambda i, n: 0.1 if i > 1 else 0.3),
    "a maximum": (lambda i, n: te.maximum(i * 0.3, 0.7), lambda i, n: max(i * 0.3, 0.7)),
    "clipped": (lambda i, n: te.clip(i * 0.3, 0.1, 0.7), lambda i, n: min(max(i * 0.3, 0.1), 0.7)),
    "a sum": (lambda i, n: reciprocals(te.sum), lambda i, n: sum(1 / k for k in range(1, 6))),
    "a product": (lambda i, n: reciprocals(te.prod), lambda i, n: 1 / 120),
    "a minimum": (lambda i, n: reciprocals(te.min), lambda i, n: 1 / 5),
    "a logarithm": (
        lambda i, n: reciprocals(te.logsumexp),
        lambda i, n: math.log(sum(math.exp(1 / k) for k in range(1, 6))),
    ),
}


@pytest.fixture(autouse=True, params=[ti.f32, ti.f64], ids=str)
def default(request: pytest.FixtureRequest) -> Any:
    ti.init(default_fp=request.param, opt_level=1)
    return request.param


def _error(dtype: Any) -> float:
    return {ti.f16: 1e-3, ti.f32: 3e-7, ti.f64: 4e-16}[dtype]


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64], ids=str)
def test_functions_of_literals(dtype: Any) -> None:
    """They are as exact as the type of what they are multiplied with."""
    x = given(1, dtype=dtype)
    functions = [getattr(te, name) for name in UNARY]
    made = [te.compute((1,), lambda i, f=own: x[i] * f(0.6)) for own in functions]
    assert all(one.dtype == dtype for one in made)
    for out, function in zip(te.build(made, [x])(np.ones(1, dtype.numpy)), UNARY.values()):
        np.testing.assert_allclose(out, function(0.6), 2 * _error(dtype))


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("is_left", [False, True])
def test_what_is_made_of_literals_indices_and_sizes(dtype: Any, is_left: bool) -> None:
    n = te.var("n")
    x = given(n, dtype=dtype)

    def element(i: Any, own: Any) -> Any:
        return own(i, n) * x[i] if is_left else x[i] * own(i, n)

    made = [te.compute((n,), lambda i, f=own: element(i, f)) for own, _ in EXPRESSIONS.values()]
    assert all(one.dtype == dtype for one in made)
    outs = te.build(made, [x])(np.ones(4, dtype.numpy))
    for name, out, (_, wanted) in zip(EXPRESSIONS, outs, EXPRESSIONS.values()):
        expected = [wanted(i, 4) for i in range(4)]
        np.testing.assert_allclose(out, expected, 4 * _error(dtype), err_msg=name)


def test_where_nothing_is_met(default: Any) -> None:
    x, rows = te.placeholder((3,)), te.placeholder((3,), ti.i32)
    k = te.reduce_axis(3)
    made = [
        te.compute((3,), lambda i: 0.1),
        te.compute((3,), lambda i: te.tanh(-0.836)),
        te.compute((3,), lambda i: i / 3),
        te.compute((3,), lambda i: rows[i] / 3),
        te.compute((), lambda: te.sum(k * 0.1, axis=k)),
        te.nn.one_hot(rows, 3),
        te.nn.mean(rows),
        te.nn.sigmoid(rows),
    ]
    assert {x.dtype, *(one.dtype for one in made)} == {default}
    first, second, *_ = te.build(made, [rows])(np.zeros(3, np.int32))
    np.testing.assert_array_equal(first, np.full(3, 0.1, default.numpy))
    np.testing.assert_allclose(second, math.tanh(-0.836), _error(default))


def test_what_a_program_says_of_types_holds() -> None:
    x = given(2, dtype=ti.f64)
    y = te.compute((2,), lambda i: x[i] * te.cast(te.sqrt(2.0), ti.f32))
    out = te.build(y, [x])(np.ones(2))
    assert y.dtype == ti.f64
    np.testing.assert_array_equal(out, np.float64(np.sqrt(np.float32(2))))


def test_derivatives() -> None:
    x, head = given(3), given(3)
    y = te.compute((3,), lambda i: te.sin(x[i] * te.sqrt(2.0)) * (1.0 / (i + 3)))
    values = np.array([0.3, -0.7, 1.1])
    slope, tangent = te.build([*te.differentiate(y, [x], head), te.jvp(y, [x], [head])], [x, head])(
        values, np.ones(3)
    )
    wanted = np.sqrt(2) * np.cos(np.sqrt(2) * values) / np.arange(3, 6)
    np.testing.assert_allclose(slope, wanted, 1e-14)
    np.testing.assert_allclose(tangent, wanted, 1e-14)


def test_integers_of_data_are_exact_in_f64() -> None:
    """What is between 2^24 and 2^53 is no number of f32."""
    x, rows = given(1), te.placeholder((1,), ti.i64)
    y = te.compute((1,), lambda i: (rows[i] / 2) * x[i])
    out = te.build(y, [x, rows])(np.ones(1), np.array([(1 << 40) + 1]))
    assert out == ((1 << 40) + 1) / 2


def test_sizes_that_f16_has_not() -> None:
    n = te.var("n")
    x = given(n, dtype=ti.f16)
    k = te.reduce_axis(n)
    mean = te.compute((), lambda: te.sum(x[k] * (1.0 / n), axis=k))
    found = te.build([mean, te.nn.mean(x)], [x])(np.full(100_000, 2, np.float16))
    np.testing.assert_allclose(found, 2, 5e-3)


def test_default_integers() -> None:
    ti.init(default_ip=ti.i64)
    k = te.reduce_axis(1 << 17)
    made = [
        te.compute((2,), lambda i: i),
        te.compute((), lambda: te.sum(k, axis=k)),
        te.placeholder((), int),
    ]
    assert {one.dtype for one in made} == {ti.i64}
    assert te.build(made[1], [])() == (1 << 17) * ((1 << 17) - 1) // 2
