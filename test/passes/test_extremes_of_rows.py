"""The greatest and least numbers of rows, in any order: as Python finds them, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.passes.cpu import reassociate_extremes

ROWS, LONG = 24, 75
Choice = Callable[[Any, Any], bool]
# whether a number takes the place of the greatest or least so far
TAKES: dict[str, Choice] = {
    "x > m": lambda x, m: x > m,
    "x >= m": lambda x, m: x >= m,
    "x < m": lambda x, m: x < m,
    "x <= m": lambda x, m: x <= m,
    "not m > x": lambda x, m: not m > x,
    "not m < x": lambda x, m: not m < x,
}


def rows(dtype: Any) -> np.ndarray:
    """Rows with ties, zeros of both signs, infinities, and NaN."""
    random = np.random.default_rng(8)
    values = random.integers(-9, 10, (ROWS, LONG)).astype(dtype)
    values[1::4] = random.standard_normal((len(values[1::4]), LONG))
    values[2::4] = -np.abs(values[2::4])
    values[2::4, ::3] = 0.0
    values[2::4, 1::3] = -0.0
    values[3::4, random.integers(0, LONG, 3)] = np.nan
    values[3] = np.nan
    values[4, 5], values[5, 6], values[6, -1] = np.inf, -np.inf, np.nan
    values[8] = 7.0
    return values


def seeds() -> np.ndarray:
    """A number for each element, which tells it from the others of its row."""
    return np.arange(1.0, ROWS * LONG + 1).reshape(ROWS, LONG)


def in_order(values: np.ndarray, takes: Choice) -> tuple[list[float], list[int]]:
    """The numbers, and their places, -1 for the initial one, which is the row's first."""
    best, places = [], []
    for row in values:
        m, k = row[0], -1
        for j, x in enumerate(row):
            if takes(x, m):
                m, k = x, j
        best.append(m)
        places.append(k)
    return best, places


def find(takes: str, dtype: Any, lanes: int, fast_math: bool) -> list[np.ndarray]:
    """What kernels find: the numbers, their places, the gradient of their sum, and their tangents
    along the numbers of `seeds`."""
    ti.init(arch=ti.cpu, default_fp=dtype, lanes=lanes, fast_math=fast_math, cpu_max_num_threads=1)
    x, best = (ti.field(dtype, shape, needs_grad=True) for shape in ((ROWS, LONG), (ROWS,)))
    place = ti.field(ti.i32, ROWS)
    kind = list(TAKES).index(takes)

    @ti.func
    def is_taken(v, m):
        taken = v > m
        if ti.static(kind == 1):
            taken = v >= m
        elif ti.static(kind == 2):
            taken = v < m
        elif ti.static(kind == 3):
            taken = v <= m
        elif ti.static(kind == 4):
            taken = not m > v
        elif ti.static(kind == 5):
            taken = not m < v
        return taken

    @ti.kernel
    def number():
        for i in best:
            m = x[i, 0]
            for j in range(LONG):
                if is_taken(x[i, j], m):
                    m = x[i, j]
            best[i] = m

    @ti.kernel
    def places():
        for i in best:
            m, k = x[i, 0], -1
            for j in range(-3, LONG - 3):  # an index may be negative
                if is_taken(x[i, j + 3], m):
                    m = x[i, j + 3]
                    k = j + 3
            place[i] = k

    values = rows(np.float32 if dtype == ti.f32 else np.float64)
    x.from_numpy(values)
    number()
    places()
    best.grad.from_numpy(np.arange(1, ROWS + 1))
    found = best.to_numpy(), place.to_numpy()
    number.grad()
    with ti.ad.FwdMode(best, x, seed=seeds().astype(values.dtype)):
        number()
    return [*found, x.grad.to_numpy(), best.dual.to_numpy()]


@pytest.mark.cpu_code("the order of iterations of one thread")
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("takes", TAKES)
def test_extremes(
    takes: str, dtype: Any, fast_math: bool, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = list[tuple[bool, int]]()
    replace = reassociate_extremes._replace
    monkeypatch.setattr(
        reassociate_extremes,
        "_replace",
        lambda extreme: (
            replaced.append((extreme.place is not None, len(extreme.beside))) or replace(extreme)
        ),
    )
    numbers, places, gradient, tangents = find(takes, dtype, lanes, fast_math)
    values = rows(numbers.dtype)
    expected, expected_places = in_order(values, TAKES[takes])
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(np.signbit(numbers), np.signbit(expected))
    np.testing.assert_array_equal(places, expected_places)
    adjoints = np.zeros_like(values)
    elements = np.arange(ROWS), np.maximum(expected_places, 0)
    adjoints[elements] = np.arange(1, ROWS + 1)
    np.testing.assert_array_equal(gradient, adjoints)
    np.testing.assert_array_equal(tangents, seeds()[elements])
    assert lanes > 1 or {*replaced} == {(False, 0), (True, 0), (False, 1)}
