"""Gradients of loops that keep a value or replace it: the adjoint goes to the last replacement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mlirad as ti

ROWS, COLUMNS = 7, 33


@pytest.fixture(autouse=True)
def _program() -> Iterator[None]:
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


@ti.func
def greatest(best, x, y):
    return ti.max(best, x)


@ti.func
def least_square(best, x, y):
    return ti.min(best, x * x)


@ti.func
def greatest_product(best, x, y):
    product = x * y
    if product > best:
        best = product
    return best


@ti.func
def last_above(best, x, y):
    if x >= y:
        best = ti.exp(x)
    return best


def _numbers(ties: bool) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    x, y = (random.standard_normal((ROWS, COLUMNS)) for _ in range(2))
    return (np.round(x), np.round(y)) if ties else (x, y)


# What is compared with the best so far, its derivatives with respect to x and y, and whether it
# replaces the best; a tie of `max` or `min` takes the second operand.
Rule = tuple[Callable[..., Any], Callable[..., Any], Callable[..., bool]]
RULES: dict[str, tuple[Any, Rule]] = {
    "greatest": (greatest, (lambda x, y: x, lambda x, y: (1.0, 0.0), lambda b, v, x, y: v >= b)),
    "least_square": (
        least_square,
        (lambda x, y: x * x, lambda x, y: (2 * x, 0.0), lambda b, v, x, y: v <= b),
    ),
    "greatest_product": (
        greatest_product,
        (lambda x, y: x * y, lambda x, y: (y, x), lambda b, v, x, y: v > b),
    ),
    "last_above": (
        last_above,
        (lambda x, y: np.exp(x), lambda x, y: (np.exp(x), 0.0), lambda b, v, x, y: x >= y),
    ),
}


def _expected(
    rule: Rule, x: np.ndarray, y: np.ndarray, start: np.ndarray, columns: int
) -> list[np.ndarray]:
    """The values, and the gradients of the sum of `(row + 1) * value`."""
    value_of, slopes_of, replaces = rule
    best, place = start.copy(), np.full(ROWS, -1)
    for i in range(ROWS):
        for j in range(columns):
            value = value_of(x[i, j], y[i, j])
            if replaces(best[i], value, x[i, j], y[i, j]):
                best[i], place[i] = value, j
    gradients = [np.zeros_like(x), np.zeros_like(y), np.zeros(ROWS)]
    for i in range(ROWS):
        if place[i] < 0:
            gradients[2][i] = i + 1
        else:
            slopes = slopes_of(x[i, place[i]], y[i, place[i]])
            for gradient, slope in zip(gradients, slopes):
                gradient[i, place[i]] = (i + 1) * slope
    return [best, *gradients]


@pytest.mark.parametrize("columns", [COLUMNS, 1, 0])
@pytest.mark.parametrize("ties", [False, True], ids=["apart", "ties"])
@pytest.mark.parametrize("is_constant", [True, False], ids=["constant", "argument"])
@pytest.mark.parametrize("name", RULES)
def test_choices(name: str, is_constant: bool, ties: bool, columns: int) -> None:
    choose, rule = RULES[name]
    x, y = (ti.field(ti.f64, (ROWS, COLUMNS), needs_grad=True) for _ in range(2))
    start, best = (ti.field(ti.f64, ROWS, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)
    numbers, factors = _numbers(ties)
    starts = np.linspace(-1.5, 1.5, ROWS)
    x.from_numpy(numbers)
    y.from_numpy(factors)
    start.from_numpy(starts)

    @ti.kernel
    def run(count: int) -> None:
        for i in range(ROWS):
            chosen = start[i]
            for j in range(columns if ti.static(is_constant) else count):
                chosen = choose(chosen, x[i, j], y[i, j])
            best[i] = chosen

    @ti.kernel
    def weigh() -> None:
        for i in range(ROWS):
            loss[None] += (i + 1) * best[i]

    with ti.ad.Tape(loss):
        run(columns)
        weigh()
    expected = _expected(rule, numbers, factors, starts, columns)
    results = [best.to_numpy(), *(field.grad.to_numpy() for field in (x, y, start))]
    for result, reference in zip(results, expected):
        np.testing.assert_allclose(result, reference, rtol=1e-13)


def test_second_derivatives() -> None:
    """Of the last square that is greater than all before, along a direction."""
    x = ti.field(ti.f64, COLUMNS, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    numbers = _numbers(False)[0][0]
    x.from_numpy(numbers)
    direction = np.linspace(1.0, 2.0, COLUMNS)

    @ti.kernel
    def run() -> None:
        most = 0.0
        for j in range(COLUMNS):
            most = ti.max(most, x[j] ** 4)
        loss[None] = most

    product = ti.ad.hvp(run, loss, x, direction)
    place = np.argmax(numbers**4)
    expected = np.zeros(COLUMNS)
    expected[place] = 12 * numbers[place] ** 2 * direction[place]
    np.testing.assert_allclose(product, expected, rtol=1e-12)


def test_the_stack_is_gone() -> None:
    """A reverse needs no memory for the values of a running maximum."""
    x, y = ti.field(ti.f32, COLUMNS, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def run() -> None:
        for _ in range(1):
            most = x[0]
            for j in range(COLUMNS):
                most = ti.max(most, x[j])
            y[None] += most

    assert "grad." not in str(run.ir(mode="reverse", stage="derived")).replace("x.grad", "")
    assert "alloc" not in str(run.ir(mode="reverse", stage="derived"))
