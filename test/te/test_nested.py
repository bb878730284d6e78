"""Expressions and definitions that are nested deeper than Python recurses, and what the branches of
choices have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import check, given

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiIndexError

AT = np.array([0.5, 0.6, 0.7])


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=0)


# what comes behind a step, of what comes before it, an index and the number of the step
STEPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "sums": lambda e, i, k: e * 0.999 + 0.001,
    "functions": lambda e, i, k: te.sin(e),
    "choices of what was chosen": lambda e, i, k: te.select(i == k, e * 2, e * 1.001),
    "one of many": lambda e, i, k: te.select(i == k, float(k), e),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_within_an_expression(name: str) -> None:
    count = 300 if name == "one of many" else 1000
    x, head = given(3), given(3)

    def element(i: Any) -> Any:
        value = x[i]
        for k in range(count):
            value = STEPS[name](value, i, k)
        return value

    y = te.compute((3,), element)
    found, slope = te.build([y, *te.differentiate(y, [x], head)], [x, head])(AT, np.ones(3))
    wanted, expected = _python(name, count)
    np.testing.assert_allclose(found, wanted, 1e-12)
    np.testing.assert_allclose(slope, expected, 1e-11)


def _python(name: str, count: int) -> tuple[list[float], list[float]]:
    values, slopes = AT.copy(), np.ones(3)
    for k in range(count):
        at = np.arange(3) == k
        if name == "sums":
            values, slopes = values * 0.999 + 0.001, slopes * 0.999
        elif name == "functions":
            values, slopes = np.sin(values), slopes * np.cos(values)
        elif name == "one of many":
            values, slopes = np.where(at, float(k), values), np.where(at, 0, slopes)
        else:
            values, slopes = values * np.where(at, 2, 1.001), slopes * np.where(at, 2, 1.001)
    return list(values), list(slopes)


def test_an_index_of_many_choices() -> None:
    x = given(5)

    def element(i: Any) -> Any:
        at: Any = 0
        for k in range(150):
            at = te.select(i == k, k * 7 % 5, at)
        return x[at]

    found = te.build(te.compute((200,), element), [x])(np.arange(5.0))
    np.testing.assert_array_equal(found, [k * 7 % 5 if k < 150 else 0 for k in range(200)])


@pytest.mark.parametrize("name", ["choices of what was chosen", "one of many"])
def test_steps_within_a_recurrence(name: str) -> None:
    x = given(3)

    def update(t: Any, h: te.Tensor, i: Any) -> Any:
        value = h[i]
        for k in range(150):
            value = STEPS[name](value, i, k)
        return value

    if name == "one of many":
        with pytest.raises(ti.TaichiTypeError, match="scan: update nests more than 100 choices"):
            te.scan(2, x, update)
        return
    found = te.build(te.scan(2, x, update), [x])(AT)
    np.testing.assert_allclose(found[1:], AT * np.outer([1, 2 * 1.001**149], 2 * 1.001**149))


def test_extents_of_many_terms() -> None:
    n = te.var("n")
    y = x = te.placeholder((n,), name="x")
    for _ in range(200):
        y = te.nn.pad(y, [(0, 1)])
    last = te.compute((1,), lambda i: y[n + 199 - i] + 1.0)
    assert te.build(last, [x])(np.ones(2)) == 1


@pytest.mark.parametrize("operator", [te.nn.tanh, te.nn.triangle], ids=["tanh", "triangle"])
def test_steps_that_are_definitions(operator: Callable[[te.Tensor], te.Tensor]) -> None:
    """Those that are branches are not merged into nests that passes recurse into."""
    y = x = given(2, 2)
    for _ in range(200):
        y = operator(y)
    (slope,) = te.differentiate(y, [x], given(2, 2, name="head"))
    values = np.array([[0.1, 0.2], [0.3, 0.4]])
    found = te.build(y, [x])(values)
    assert slope.shape == (2, 2)
    for _ in range(200):
        values = np.tanh(values) if operator is te.nn.tanh else np.tril(values)
    np.testing.assert_allclose(found, values, 1e-12)


def test_many_tensors_as_one() -> None:
    each = [te.placeholder((1,), name=f"x{k}") for k in range(100)]
    outs = te.build([te.nn.concat(each), te.nn.stack(each)], each)(
        *(np.full(1, float(k)) for k in range(100))
    )
    for out in outs:
        np.testing.assert_array_equal(out.ravel(), np.arange(100))


CHOICES: dict[str, Callable[[Any, Any], Any]] = {
    "in both branches": lambda s, i: te.select(i < 2, s * 2, s * 3),
    "in a branch, then behind it": lambda s, i: te.select(i < 2, s, 0.0) + s,
    "in a branch of each of two": lambda s, i: te.select(i < 1, s, 0.0) + te.select(i > 2, s, 1.0),
    "in a branch within a branch": lambda s, i: te.select(
        i < 3, te.select(i < 1, s, s * s), te.select(i > 3, 1.0, s)
    ),
    "as a condition and in a branch": lambda s, i: te.select(s > 13, s, -s),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_sum_that_branches_use(name: str) -> None:
    """What a branch has computed under its condition is not what others read."""
    x = given(4, 3)

    def element(i: Any) -> Any:
        k = te.reduce_axis(3)
        return CHOICES[name](te.sum(x[i, k], axis=k), i)

    values = np.arange(12.0).reshape(4, 3)
    found = check(te.compute((4,), element), [x], [values])
    sums = values.sum(1)
    wanted = {
        "in both branches": sums * [2, 2, 3, 3],
        "in a branch, then behind it": sums * [2, 2, 1, 1],
        "in a branch of each of two": [sums[0] + 1, 1, 1, sums[3]],
        "in a branch within a branch": [sums[0], sums[1] ** 2, sums[2] ** 2, sums[3]],
        "as a condition and in a branch": np.where(sums > 13, sums, -sums),
    }
    np.testing.assert_allclose(found, wanted[name])


def test_a_condition_is_looked_at_where_the_one_around_it_holds() -> None:
    x, w = given(4), given(4, 3, name="w")

    def element(i: Any) -> Any:
        k = te.reduce_axis(3)
        total = te.sum(w[i, k], axis=k)
        return te.select(i >= 1, te.select(x[i - 1] > 0, total, 0.0), 0.0)

    ti.init(default_fp=ti.f64, debug=True)  # x[-1] is an error
    values = np.arange(12.0).reshape(4, 3)
    found = te.build(te.compute((4,), element), [x, w])(np.array([1.0, -1, 1, 1]), values)
    np.testing.assert_array_equal(found, [0, values[1].sum(), 0, values[3].sum()])


def test_a_read_in_both_branches_is_checked() -> None:
    x = given(4)

    def element(i: Any) -> Any:
        beyond = x[i + 1]
        return te.select(i < 3, beyond, beyond * 2)

    with pytest.raises(TaichiIndexError, match="index 0 of tensor 'x' goes from 1 to 4"):
        te.compute((4,), element)


def test_branches_within_branches_are_no_more_code_than_they_say() -> None:
    """Forty choices of what was chosen are forty, not 2^40."""
    x = given(3)

    def element(i: Any) -> Any:
        value = x[i]
        for k in range(40):
            value = te.select(i == k % 3, te.sin(value), te.cos(value) * 1.5)
        return value

    check(te.compute((3,), element), [x])
