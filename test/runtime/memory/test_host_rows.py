"""Rows of elements, and boxes of them."""

from __future__ import annotations

import tracemalloc

import numpy as np

from mlirad.runtime.memory.host.host_rows import HostRows

ROWS, COLUMNS = 4, 20_000


def test_boxes_of_a_row() -> None:
    """The same, however often and among how many others one asks."""
    rows = HostRows(np.zeros((ROWS, COLUMNS)))
    for _ in range(2):
        for first in range(200):
            assert rows.of(((1, 9), (first, first + 2))) == (1, 3, ((first, first + 2),))
        assert rows.of(((0, 3), (None, None))) == (0, 3, None)
        assert rows.of(((0, 3), (5, 4))) is None
        assert rows.of(((-1, 3), (5, 6))) is None


def test_what_is_remembered_is_bounded() -> None:
    """Where every launch has another range."""
    rows = HostRows(np.zeros((ROWS, COLUMNS)))
    rows.of(((0, 0), (0, 1)))
    tracemalloc.start()
    try:
        for first in range(COLUMNS):
            rows.of(((0, 0), (first, first)))
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
