"""Recurrences: sums so far, averages, networks with a state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te.derivatives import check, given, reduced

import mlirad as ti
from mlirad import te

RANDOM = np.random.default_rng(12)


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


def _start(*shape: int, value: float = 0.0) -> te.Tensor:
    return te.compute(shape, lambda *i: te.cast(value, ti.f64), "start")


def test_sums_and_products_so_far() -> None:
    x, k = given(9, 4), te.reduce_axis(9)
    values = RANDOM.normal(size=(9, 4))
    wanted = np.cumsum(values**2, 0)
    so_far = te.scan(9, _start(4), lambda t, h, i: h[i] + x[t, i] ** 2)
    ways = [
        te.compute((9, 4), lambda t, i: te.sum(x[k, i] ** 2, axis=k, where=k <= t)),
        te.compute((9, 4), lambda t, i: so_far[t + 1, i]),
    ]
    for y in ways:
        np.testing.assert_allclose(check(y, [x], [values], second=True), wanted)
    back = te.scan(9, _start(4), lambda t, h, i: h[i] + x[8 - t, i] ** 2)
    y = te.compute((9, 4), lambda t, i: back[9 - t, i])
    np.testing.assert_allclose(check(y, [x], [values]), np.cumsum(values[::-1] ** 2, 0)[::-1])
    values[4, 1] = 0  # a factor that cannot be divided by
    products = [
        te.scan(9, _start(4, value=1.0), lambda t, h, i: h[i] * x[t, i]),
        te.compute((10, 4), lambda t, i: te.prod(x[k, i], axis=k, where=k < t)),
    ]
    for y in products:
        found = check(y, [x], [values], second=True)
        np.testing.assert_allclose(found[1:], np.cumprod(values, 0))


def test_averages_and_polynomials() -> None:
    x, rate = given(12), given(name="rate")
    values = [RANDOM.normal(size=12), np.array(0.3)]
    mean = te.scan(12, _start(), lambda t, h: h() * (1 - rate()) + rate() * x[t])
    found = check(mean, [x, rate], values, second=True)
    wanted = [0.0]
    for own in values[0]:
        wanted.append(0.7 * wanted[-1] + 0.3 * own)
    np.testing.assert_allclose(found, wanted)
    horner = te.scan(12, _start(), lambda t, h: h() * rate() + x[11 - t])
    y = te.compute((), lambda: horner[12])
    np.testing.assert_allclose(
        check(y, [x, rate], values, second=True), np.polyval(values[0][::-1], 0.3)
    )
    squares = te.scan(12, _start(), lambda t, f: f() ** 2 + 0.1 * x[t])
    check(squares, [x], values[:1], second=True)


def test_networks_with_a_state() -> None:
    x, w, u, b = given(6, 2, 3), given(3, 4, name="w"), given(4, 4, name="u"), given(4, name="b")
    k, m = reduced(3, 4)
    given_ = te.compute((6, 2, 4), lambda t, n, i: te.sum(x[t, n, k] * w[k, i], axis=k) + b[i])
    h = te.scan(
        6,
        _start(2, 4),
        lambda t, h, n, i: te.tanh(te.sum(h[n, m] * u[m, i], axis=m) + given_[t, n, i]),
    )
    values = [0.5 * RANDOM.normal(size=one.shape) for one in (x, w, u, b)]
    found = check(h, [x, w, u, b], values)
    state = np.zeros((2, 4))
    for t in range(6):
        state = np.tanh(state @ values[2] + values[0][t] @ values[1] + values[3])
        np.testing.assert_allclose(found[t + 1], state)


def test_operators_of_states() -> None:
    x, u = given(3, 2, 4), given(4, 4, name="u")
    h = te.scan(3, _start(2, 4), lambda t, h, n, i: te.tanh(te.nn.matmul(h, u)[n, i] + x[t, n, i]))
    values = [0.5 * RANDOM.normal(size=one.shape) for one in (x, u)]
    state = np.zeros((2, 4))
    for t, found in enumerate(check(h, [x, u], values)[1:]):
        state = np.tanh(state @ values[1] + values[0][t])
        np.testing.assert_allclose(found, state)


def test_gated_units() -> None:
    """Cho and others, 2014."""
    x = given(3, 2, 3)
    weights = [given(7, 4, name=name) for name in ("update", "reset", "new")]
    k, m, p = reduced(3, 4, 4)

    def gate(w: te.Tensor, t: Any, state: Any, n: Any, i: Any, over: Any = m) -> Any:
        return te.sum(x[t, n, k] * w[k, i], axis=k) + te.sum(
            state(n, over) * w[3 + over, i], axis=over
        )

    def step(t: Any, h: te.Tensor, n: Any, i: Any) -> Any:
        def reset(n: Any, i: Any) -> Any:
            return te.sigmoid(gate(weights[1], t, h, n, i, p)) * h[n, i]

        update = te.sigmoid(gate(weights[0], t, h, n, i))
        return (1 - update) * h[n, i] + update * te.tanh(gate(weights[2], t, reset, n, i))

    h = te.scan(3, _start(2, 4), step)
    check(h, [x, *weights], [0.5 * RANDOM.normal(size=one.shape) for one in (x, *weights)])


def test_states_that_begin_alike_and_what_they_begin_with() -> None:
    x, first = given(5, 3), given(3, name="first")
    values = [RANDOM.normal(size=(5, 3)), RANDOM.normal(size=3)]
    sums, squares = te.scan(
        5, [first, first], lambda t, s, i: (s[0][i] + x[t, i], s[1][i] + s[0][i] * x[t, i])
    )
    check(squares, [x, first], values, second=True)
    np.testing.assert_allclose(check(sums, [x, first], values)[-1], values[1] + values[0].sum(0))
    again = te.scan(5, first, lambda t, s, i: s[i] * x[t, i] + first[i])
    wanted = [values[1]]
    for own in values[0]:
        wanted.append(wanted[-1] * own + values[1])
    np.testing.assert_allclose(check(again, [x, first], values, second=True), wanted)
    with pytest.raises(ti.TaichiTypeError, match="the same shape and type"):
        te.scan(5, [first, given(4)], lambda t, s, i: (s[0][i], s[1][i]))


def test_steps_in_which_nothing_is_read() -> None:
    x, k = given(3, 2), te.reduce_axis(2)
    values = [RANDOM.normal(size=(3, 2))]

    def step(t: Any, h: te.Tensor, i: Any) -> Any:
        return te.sum(h[k], axis=k) * 0.5 + te.select(t + i < 3, x[t + i, i], 1.0)

    found = check(te.scan(5, _start(2), step), [x], values, second=True)
    state = np.zeros(2)
    for t in range(5):
        state = state.sum() / 2 + [values[0][t + i, i] if t + i < 3 else 1.0 for i in range(2)]
        np.testing.assert_allclose(found[t + 1], state)


def test_sizes_that_are_too_small_for_a_recurrence() -> None:
    n, m = te.var("n"), te.var("m")
    x = given(m, 3)
    h = te.build(te.scan(n, _start(3), lambda t, h, i: h[i] + x[t, i]), [x, given(n)])
    assert h(np.ones((5, 3)), np.ones(5))[5, 2] == 5
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"test_recurrences.*'x' is out of bounds"):
        h(np.ones((4, 3)), np.ones(5))
