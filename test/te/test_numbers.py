"""Numbers of all types, NaN, infinities, and derivatives that are infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import given

import mlirad as ti
from mlirad import te


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


@pytest.mark.parametrize("kind", [ti.u8, ti.u16, ti.u32, ti.u64, ti.i8, ti.i64], ids=str)
def test_integers(kind: Any) -> None:
    x, k = te.placeholder((6,), kind, "x"), te.reduce_axis(6)
    bounds = np.iinfo(kind.numpy)
    values = np.array([3, bounds.max, 1, bounds.min, bounds.max - 7, 1], kind.numpy)

    def whole(function: Callable[..., Any]) -> te.Tensor:
        return te.compute((), lambda: function(x[k], axis=k))

    outputs = [*map(whole, (te.sum, te.max, te.min, te.argmax, te.argmin))]
    outputs.append(te.compute((1,), lambda i: te.max(x[k], axis=k)))
    outputs += [
        te.compute((6,), element)
        for element in (
            lambda i: x[i] // 3,
            lambda i: x[i] % 5,
            lambda i: te.cast(x[i], ti.f64),
            lambda i: x[i] > 2,
        )
    ]
    sums, most, least, first, last, again, *elements = te.build(outputs, [x])(values)
    assert sums == values.sum(dtype=kind.numpy)
    assert most == again[0] == values.max() and least == values.min()
    assert first == values.argmax() and last == values.argmin()
    wanted = (values // 3, values % 5, values.astype(float), values > 2)
    for own, expected in zip(elements, wanted):
        np.testing.assert_array_equal(own, expected)


def test_conditions_in_arrays() -> None:
    mask, x = te.placeholder((4,), ti.u1, "mask"), given(4)
    head, k = given(4), te.reduce_axis(4)
    y = te.compute((4,), lambda i: te.select(mask[i], x[i] ** 2, te.exp(x[i])))
    count = te.compute((), lambda: te.sum(mask[k], axis=k))
    above = te.compute((4,), lambda i: x[i] > 1.5)
    step = te.build([count, above, *te.differentiate(y, [x], head)], [mask, x, head])
    chosen, values = np.array([True, False, True, False]), np.arange(4.0)
    found, greater, slope = step(chosen, values, np.ones(4))
    assert found == 2
    np.testing.assert_array_equal(greater, values > 1.5)
    np.testing.assert_allclose(slope, np.where(chosen, 2 * values, np.exp(values)))


def test_numbers_of_half_precision() -> None:
    x, head, along = (te.placeholder(shape, ti.f16) for shape in ((3, 4), (3,), (3, 4)))
    k = te.reduce_axis(4)
    values = np.full((3, 4), 2, np.float16)
    wanted = {te.sum: (4.0, 16.0), te.prod: (256.0, 1024.0), te.max: (4.0, 4.0)}
    for function, (slope, tangent) in wanted.items():
        y = te.compute((3,), lambda i, f=function: f(x[i, k] * x[i, k], axis=k))
        outputs = [*te.differentiate(y, [x], head), te.jvp(y, [x], [along])]
        found, moved = te.build(outputs, [x, head, along])(
            values, np.ones(3, np.float16), np.ones((3, 4), np.float16)
        )
        assert found.dtype == moved.dtype == np.float16
        np.testing.assert_array_equal(found.max(1), slope)
        np.testing.assert_array_equal(moved, tangent)


def test_numbers_in_the_place_of_arrays() -> None:
    x, rate = given(3), given(name="rate")
    f = te.build(te.compute((3,), lambda i: x[i] * rate()), [x, rate])
    for one in (2.5, np.float64(2.5), np.array(2.5)):
        np.testing.assert_array_equal(f(np.arange(3.0), one), [0, 2.5, 5])


@pytest.mark.parametrize("at", [0, 17, 299])
def test_a_maximum_with_a_nan_is_nan(at: int) -> None:
    x, k = given(300), te.reduce_axis(300)
    outputs = [te.compute(shape, lambda *i: te.max(x[k], axis=k)) for shape in ((), (1,))]
    values = np.random.default_rng(at).normal(size=300)
    values[at] = np.nan
    for own in te.build(outputs, [x])(values):
        assert np.isnan(own).all()


POLES: dict[str, Callable[[Any], Any]] = {
    "sqrt": te.sqrt,
    "log": te.log,
    "quotient": lambda v: 1.0 / v,
    "power": lambda v: v**0.5,
    "within": lambda v: te.sin(2.0 * te.sqrt(v)) + v,
}


@pytest.mark.parametrize("name", POLES)
def test_an_infinite_derivative_without_weight_gives_nothing(name: str) -> None:
    """An adjoint, a tangent or a factor of 0 at a pole."""
    x, w, head, along = (given(4, name=name) for name in ("x", "w", "head", "along"))
    y = te.compute((4,), lambda i: POLES[name](x[i]) * w[i])
    step = te.build([*te.differentiate(y, [x], head), te.jvp(y, [x], [along])], [x, w, head, along])
    values, weights = np.array([0.0, 0.0, 0.0, 4.0]), np.array([1.0, 0.0, 1.0, 1.0])
    slope, tangent = step(values, weights, np.array([0.0, 1, 0, 1]), np.array([0.0, 0, 0, 1]))
    np.testing.assert_array_equal(slope[:3], 0)
    np.testing.assert_array_equal(tangent[:3], 0)
    assert slope[3] == tangent[3] != 0


def test_a_factor_of_zero_still_has_a_derivative() -> None:
    """What is 0 at a pole for lack of weight moves with the weight."""
    x, w, dx, dw = (given(3, name=name) for name in ("x", "w", "dx", "dw"))
    k = te.reduce_axis(3)
    y = te.compute((), lambda: te.sum(te.log(x[k]) * w[k], axis=k))
    values = np.array([1.0, 2.0, 4.0])
    found = te.build(te.hvp(y, [x, w], [dx, dw]), [x, w, dx, dw])(
        values, np.zeros(3), np.ones(3), np.ones(3)
    )
    np.testing.assert_allclose(found, [1 / values, 1 / values])


def test_a_long_chain_of_definitions() -> None:
    x, head = given(16), given(16)
    y = x
    for _ in range(30):
        y = te.compute((16,), lambda i, y=y: 0.5 * y[(i + 1) % 16] + 0.5 * y[i])
    step = te.build([y, *te.differentiate(y, [x], head)], [x, head])
    values, above = (np.random.default_rng(k).normal(size=16) for k in range(2))
    found, slope = step(values, above)
    turns = (np.eye(16) + np.roll(np.eye(16), 1, axis=1)) / 2
    power = np.linalg.matrix_power(turns, 30)
    np.testing.assert_allclose(found, power @ values)
    np.testing.assert_allclose(slope, power.T @ above)
