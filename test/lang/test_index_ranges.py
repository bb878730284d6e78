"""Loops whose first or last iterations leave an array: reads are warned of, writes refused.

Inner loops without iterations keep the tests from reading there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti

BEYOND = "the indices of this loop go 1 beyond the end of "
BELOW = "the indices of this loop go 1 below the start of "


def _in_blocks(*kinds: str) -> Any:
    """A field of 8 elements in blocks of two."""
    x = ti.field(ti.f64, needs_grad=True)
    outer, inner = kinds
    getattr(getattr(ti.root, outer)(ti.i, 4), inner)(ti.i, 2).place(x, x.grad)
    return x


FIELDS: dict[str, Callable[[], Any]] = {
    "field": lambda: ti.field(ti.f64, 8, name="x", needs_grad=True),
    "vectors": lambda: ti.Vector.field(2, ti.f64, 8, name="x", needs_grad=True),
    "with an offset": lambda: ti.field(ti.f64, 8, offset=0, name="x", needs_grad=True),
    "blocks": lambda: _in_blocks("dense", "dense"),
    "sparse blocks": lambda: _in_blocks("pointer", "dense"),
    "sparse cells": lambda: _in_blocks("dense", "bitmasked"),
}
ARRAYS: dict[str, Callable[[], Any]] = {
    "ndarray": lambda: ti.ndarray(ti.f64, 8, needs_grad=True),
    "NumPy array": lambda: np.zeros(8),
}
# what runs a kernel, given the loss
MODES: dict[str, Callable[[Any, Callable[[], None]], None]] = {
    "launch": lambda loss, run: run(),
    "tape": lambda loss, run: _in_tape(loss, run),
    "tangents": lambda loss, run: _with_tangents(loss, run),
}


def _in_tape(loss: Any, run: Callable[[], None]) -> None:
    with ti.ad.Tape(loss):
        run()


def _with_tangents(loss: Any, run: Callable[[], None]) -> None:
    scale = ti.field(ti.f64, (), needs_dual=True)
    with ti.ad.FwdMode(loss=loss, param=scale):
        run()


@pytest.fixture
def loss() -> Any:
    ti.init(default_fp=ti.f64)
    return ti.field(ti.f64, (), needs_grad=True, needs_dual=True)


def _warned(run: Callable[[], None]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(entry.message) for entry in found if "of this loop" in str(entry.message)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", FIELDS)
def test_read_of_a_field(loss: Any, place: str, mode: str) -> None:
    x = FIELDS[place]()

    @ti.kernel
    def differences(count: ti.i32) -> None:
        for i in range(8):
            for _ in range(count):
                loss[None] += x[i + 1].norm() if ti.static(place == "vectors") else x[i + 1]

    found = _warned(lambda: MODES[mode](loss, lambda: differences(0)))
    assert found
    assert all(text.startswith(f"{BEYOND}'x' (axis 0 has 8 elements)") for text in found)


@pytest.mark.parametrize("place", ARRAYS)
def test_read_of_an_array(loss: Any, place: str) -> None:
    @ti.kernel
    def differences(a: ti.types.ndarray(ti.f64, 1), count: ti.i32) -> None:
        for i in range(a.shape[0]):
            for _ in range(count):
                loss[None] += a[i - 1]

    array = ARRAYS[place]()
    found = _warned(lambda: differences(array, 0))
    assert len(found) == 1
    assert found[0].startswith(f"{BELOW}an array argument (axis 0), and the access reads")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", FIELDS)
@pytest.mark.parametrize("is_atomic", [False, True])
def test_write_to_a_field(loss: Any, place: str, mode: str, is_atomic: bool) -> None:
    x = FIELDS[place]()

    @ti.kernel
    def fill() -> None:
        for i in range(8):
            if ti.static(is_atomic):
                x[7 - i * 2] += 1.0
            else:
                x[7 - i * 2] = 1.0

    with pytest.raises(ti.TaichiIndexError, match=r"go 7 below the start of 'x'.* overwrites"):
        MODES[mode](loss, fill)


def test_write_in_a_loop_that_may_be_empty(loss: Any) -> None:
    x = FIELDS["field"]()

    @ti.kernel
    def fill(n: ti.i32) -> None:
        for i in range(n):
            x[i - 1] = 1.0

    found = _warned(lambda: fill(0))
    assert len(found) == 1
    assert found[0].startswith(BELOW)


def test_inside(loss: Any) -> None:
    """Accesses at the last element, under conditions, and at indices that no sum gives."""
    x = FIELDS["field"]()

    @ti.kernel
    def inside() -> None:
        for i in x:
            if i < 7:
                x[i] = x[i + 1]
        for i in range(1, 7):
            x[i] = x[i - 1] + x[i + 1]
        for i in range(0, 8, 3):
            x[i + 1] = x[7 - i]
        for i in range(9):
            x[ti.min(i, 7)] += x[i % 8]
        for i in range(16):
            if x[i // 2] > 0.0:
                continue
            x[i // 2] = 1.0
        for _ in range(1):
            for i in range(100):
                if i > 7:
                    break
                x[i] = 1.0

    assert not _warned(inside)


def test_inner_loop_that_is_empty_where_the_outer_leaves_the_field(loss: Any) -> None:
    x = FIELDS["field"]()
    counts = ti.field(ti.i32, 16)

    @ti.kernel
    def inside() -> None:
        for i in range(16):
            for _ in range(i, 8):
                x[i] += 1.0
        for i in range(16):
            for _ in range(counts[i]):
                x[i] += 1.0

    assert not _warned(inside)
    assert x.to_numpy().tolist() == [8, 7, 6, 5, 4, 3, 2, 1]


def test_offset(loss: Any) -> None:
    """The indices of a field with an offset start below 0."""
    x = ti.field(ti.f64, 8, offset=-4)

    @ti.kernel
    def inside() -> None:
        for i in range(-4, 4):
            x[i] = 1.0

    @ti.kernel
    def beyond() -> None:
        for i in range(8):
            x[i] = 1.0

    assert not _warned(inside)
    with pytest.raises(ti.TaichiIndexError, match="go 4 beyond the end of 'x'"):
        beyond()


def test_debug_reports_the_index_instead() -> None:
    ti.init(debug=True)
    x = ti.field(ti.f32, 8)

    @ti.kernel
    def fill() -> None:
        for i in range(9):
            x[i] = 1.0

    with pytest.raises(ti.TaichiAssertionError, match=r"with indices \(8\)"):
        fill()
