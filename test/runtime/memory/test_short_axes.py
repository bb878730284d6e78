"""Elements that are short rows apart: the same as NumPy's own assignments and copies."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from mlirad.runtime.memory.short_axes import (
    COPIED,
    LEAST_COPIED,
    MANY,
    PIECE,
    assign,
    copied,
    exchange,
)

N = MANY


def views(memory: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Parts of memory of N rows of 12 numbers."""
    return {
        "vectors": memory[:, 1:3],
        "matrices": memory[:, 2:8].reshape(N, 2, 3),
        "numbers": memory[:, 5],
        "all": memory,
        "box": memory.reshape(64, N // 64, 12)[5:40, ::2, :3],
        "few": memory[:3, :2],
    }


@pytest.mark.parametrize("name", views(np.zeros((N, 12))))
def test_assignments(name: str) -> None:
    random = np.random.default_rng(0)
    before = random.uniform(size=(N, 12))
    shape = views(before)[name].shape
    for values in (0.0, 7, random.uniform(size=shape), random.uniform(size=shape[-1:])):
        found, expected = before.copy(), before.copy()
        assign(views(found)[name], values)
        views(expected)[name][...] = values
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", views(np.zeros((N, 12))))
def test_copies(name: str) -> None:
    memory = np.random.default_rng(0).uniform(size=(N, 12))
    view = views(memory)[name]
    found, other = copied(view), np.zeros(view.shape)
    assign(other, view)
    assert found.flags.c_contiguous and not np.shares_memory(found, memory)
    np.testing.assert_array_equal(found, view)
    np.testing.assert_array_equal(other, view)


@pytest.mark.parametrize("name", views(np.zeros((N, 12))))
def test_exchanges(name: str) -> None:
    random = np.random.default_rng(2)
    one, other = random.uniform(size=(2, N, 12))
    first, second = one.copy(), other.copy()
    exchange(views(first)[name], views(second)[name])
    for found, was, becomes in ((first, one, other), (second, other, one)):
        expected = was.copy()
        views(expected)[name][...] = views(becomes)[name]
        np.testing.assert_array_equal(found, expected)


def test_large_arrays_are_exchanged_in_pieces() -> None:
    one, other = np.arange(2.0 * 5 * PIECE).reshape(2, 5 * PIECE)
    for shape in ((-1,), (1, -1), (5, -1), (PIECE // 4, -1)):
        first, second = one.copy().reshape(shape), other.copy().reshape(shape)
        tracemalloc.start()
        exchange(first, second)
        assert tracemalloc.get_traced_memory()[1] < 2 * PIECE
        tracemalloc.stop()
        np.testing.assert_array_equal(first.ravel(), other)
        np.testing.assert_array_equal(second.ravel(), one)


@pytest.mark.parametrize("dtype", (np.uint8, np.float32, np.float64))
@pytest.mark.parametrize("extra", (-1, 0, 1, COPIED // 8 + 3))
def test_large_arrays_are_copied_in_pieces(dtype: type, extra: int) -> None:
    """Whatever the number of elements, of one axis or two; parts of an array that overlap are
    copied as by NumPy."""
    size = np.dtype(dtype).itemsize
    count = LEAST_COPIED // size + extra
    values = np.random.default_rng(3).integers(1, 100, 2 * count).astype(dtype)
    for shape in ((count,), (2, count)):
        of, to = values[: np.prod(shape)].reshape(shape), np.zeros(shape, dtype)
        assign(to, of)
        np.testing.assert_array_equal(to, of)
    for start, end in ((0, 5), (5, 0)):
        found, expected = values.copy(), values.copy()
        assign(found[start : count + start], found[end : count + end])
        expected[start : count + start] = values[end : count + end]
        np.testing.assert_array_equal(found, expected)
