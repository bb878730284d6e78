"""Sums that Python writes term by term become reductions, with the same values and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te
from mlirad.ir.walk import owner_operation
from mlirad.te.definitions import rolled_sums

SIZE, MORE = 40, 128
Element = Callable[..., Any]

# expressions of an index, a tensor with more elements, and weights
ROLLED: dict[str, Element] = {
    "window": lambda i, x, w: sum(x[i + k] * w[k] for k in range(20)),
    "step": lambda i, x, w: sum(x[i + 3 * k] * w[19 - k] for k in range(20)),
    "backwards": lambda i, x, w: sum(x[i + 30 - k] ** 2 for k in range(30)),
    "box": lambda i, x, w: sum(x[i + 5 * a + c] * w[4 * a + c] for a in range(4) for c in range(4)),
    "deep box": lambda i, x, w: sum(
        x[i + 9 * a + 2 * c] * w[a + d]
        for a in range(3) for c in range(2) for d in range(4)
    ),
    "shared": lambda i, x, w: (
        lambda s: sum(s * x[i + k] + te.sin(s) for k in range(16))
    )(x[2 * i]),
    "conditions": lambda i, x, w: sum(
        te.select(i + k < 40, x[i + k], w[k] * x[i]) for k in range(16)
    ),
    "between": lambda i, x, w: w[0] + sum((te.exp(x[i + k] * 0.1) for k in range(13)), x[i]) + w[3],
    "within": lambda i, x, w: te.tanh(sum(x[i + k] * 0.1 for k in range(13))) * x[i],
    "quotients": lambda i, x, w: sum(x[(i + 2 * k) // 2] * w[k] for k in range(14)),
    "two": lambda i, x, w: sum(x[i + k] for k in range(14)) * sum(w[k] * w[k] for k in range(14)),
}  # fmt: skip
KEPT: dict[str, Element] = {
    "few": lambda i, x, w: sum(x[i + k] for k in range(11)),
    "other factors": lambda i, x, w: sum(x[i + k] * (0.5 * k) for k in range(20)),
    "other steps": lambda i, x, w: sum(
        x[i + k] for k in (0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 2, 3, 5, 7, 11, 13)
    ),
    "other divisors": lambda i, x, w: sum(x[i // (k + 1)] for k in range(20)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def program_of_a_test() -> None:
    ti.init()


def build(element: Element) -> tuple[te.Tensor, Any]:
    """A definition, and the program of it and its derivatives."""
    x = te.placeholder((MORE,), dtype=ti.f64, name="x")
    w = te.placeholder((20,), dtype=ti.f64, name="w")
    y = te.compute((SIZE,), lambda i: element(i, x, w), name="y")
    head = te.placeholder(y.shape, dtype=ti.f64, name="head")
    return y, te.build([y, *te.differentiate(y, [x, w], head=head)], [x, w, head])


def values_of(element: Element) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    arguments = [generator.uniform(0.5, 1.5, size) for size in (MORE, 20, SIZE)]
    return [np.array(value) for value in build(element)[1](*arguments)]


@pytest.mark.parametrize("name", [*ROLLED, *KEPT])
def test_values_and_derivatives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the sum term by term."""
    element = (ROLLED | KEPT)[name]
    rolled = values_of(element)
    monkeypatch.setattr(rolled_sums, "_FEWEST", 1000)
    for value, expected in zip(rolled, values_of(element)):
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ROLLED)
def test_a_sum_is_a_reduction(name: str) -> None:
    """A sum of terms that are alike is one: few reads are left."""
    y, program = build(ROLLED[name])
    assert "te.reduce" in program.ir(stage="te")
    text = str(owner_operation(y.value))
    assert text.count("te.read") <= 4, text


@pytest.mark.parametrize("name", KEPT)
def test_other_sums_are_kept(name: str) -> None:
    y, _ = build(KEPT[name])
    assert "te.reduce" not in str(owner_operation(y.value))


def test_an_index_out_of_bounds_has_the_place_of_the_term() -> None:
    x = te.placeholder((50,), name="x")
    with pytest.raises(ti.TaichiIndexError, match="x"):
        te.compute((40,), lambda i: sum(x[i + k] for k in range(20)))


def test_a_long_filter_compiles_as_a_short_one() -> None:
    """The op count of a program with derivatives does not depend on the length of the filter."""

    def count(length: int) -> int:
        x, w = te.placeholder((1000,), name="x"), te.placeholder((length,), name="w")
        y = te.compute((500,), lambda i: sum(x[i + k] * w[k] for k in range(length)))
        gradients = te.differentiate(
            te.compute((), lambda: te.sum(y[r := te.reduce_axis(500)], r)), [x, w]
        )
        return str(te.build([*gradients], [x, w]).ir(stage="te")).count(" = ")

    assert count(300) == count(30)
