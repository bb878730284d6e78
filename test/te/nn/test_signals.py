"""Transforms, grids and stencils, and their derivatives, held against NumPy and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from te.derivatives import given, reduced
from te.together import Array, Program, check_all

import mlirad as ti
from mlirad import te
from mlirad.te import nn

RANDOM = np.random.default_rng(11)


def _spectrum(x: te.Tensor) -> te.Tensor:
    """The squares of the amplitudes of a Fourier transform, which is a matrix."""
    size = x.shape[0]

    def wave(function: Any) -> te.Tensor:
        turn = 2 * np.pi / size
        return te.compute((size, size), lambda i, j: function(te.cast(i * j % size, ti.f64) * turn))

    real, imaginary = (nn.matmul(wave(one), nn.expand_dims(x, 1)) for one in (te.cos, te.sin))
    return te.compute((size,), lambda i: real[i, 0] ** 2 + imaginary[i, 0] ** 2)


def _corner(place: Any, extent: int, step: Any) -> tuple[Any, Any]:
    """One of the two neighbours of a place in a grid, and its weight."""
    low = te.floor(place)
    share = te.select(step == 0, 1.0 - (place - low), place - low)
    return te.max(te.min(te.cast(low, ti.i32) + te.cast(step, ti.i32), extent - 1), 0), share


def _bilateral(grid: te.Tensor, guide: te.Tensor) -> te.Tensor:
    """A grid of values read where the guide says how deep, between eight neighbours each (Chen,
    Paris and Durand, 2007)."""
    rows, columns, depth = grid.shape
    height, width = guide.shape
    a, c, d = reduced(2, 2, 2)

    def element(i: Any, j: Any) -> Any:
        row, own = _corner((te.cast(i, ti.f64) + 0.5) * (rows / height) - 0.5, rows, a)
        column, other = _corner((te.cast(j, ti.f64) + 0.5) * (columns / width) - 0.5, columns, c)
        deep, third = _corner(guide[i, j] * depth - 0.5, depth, d)
        return te.sum(grid[row, column, deep] * (own * other * third), axis=(a, c, d))

    return te.compute(guide.shape, element, "bilateral")


def _sliced(grid: Array, guide: Array) -> Array:
    shape, y = np.array(grid.shape), np.zeros(guide.shape)
    for i, j in np.ndindex(*guide.shape):
        at = (np.array([i + 0.5, j + 0.5]) * shape[:2] / guide.shape, [guide[i, j] * shape[2]])
        place = np.concatenate(at) - 0.5
        low = np.floor(place).astype(int)
        for step in np.ndindex(2, 2, 2):
            weight = np.prod(np.where(step, place - low, 1 - (place - low)))
            y[i, j] += weight * grid[tuple(np.clip(low + step, 0, shape - 1))]
    return y


def _stencil(x: te.Tensor, mode: str) -> te.Tensor:
    """Five points, the middle one squared."""
    wide = nn.pad(x, [1, 1], mode)
    return te.compute(
        x.shape,
        lambda i, j: (
            wide[i, j + 1]
            + 2 * wide[i + 2, j + 1]
            + 3 * wide[i + 1, j]
            + 4 * wide[i + 1, j + 2]
            - wide[i + 1, j + 1] ** 2
        ),
    )


def _five(x: Array, mode: Any) -> Array:
    wide: Array = np.pad(x, 1, mode=mode)
    inner = wide[1:-1, 1:-1]
    return (
        wide[:-2, 1:-1] + 2 * wide[2:, 1:-1] + 3 * wide[1:-1, :-2] + 4 * wide[1:-1, 2:] - inner**2
    )


def test_transforms_and_stencils() -> None:
    x, image = given(12), given(5, 6, name="image")
    grid, guide = given(3, 4, 5, name="grid"), given(6, 7, name="guide")
    deep = [RANDOM.normal(size=(3, 4, 5)), RANDOM.uniform(-0.1, 1.1, (6, 7))]
    programs = {
        "spectrum": Program(_spectrum(x), [x], lambda v: abs(np.fft.fft(v)) ** 2, is_full=True),
        "bilateral slice": Program(_bilateral(grid, guide), [grid, guide], _sliced, deep),
    }
    for mode in ("constant", "edge", "reflect", "wrap"):
        programs[f"stencil: {mode}"] = Program(
            _stencil(image, mode),
            [image],
            lambda v, m=mode: _five(v, m),
            is_full=mode in ("edge", "wrap"),
        )
    check_all(programs, thirds=False)


def test_fifty_layers() -> None:
    x, *weights = given(3, 4), *(given(4, 4, name=f"w{k}") for k in range(50))
    y = x
    for w in weights:
        y = nn.tanh(nn.dense(y, w))

    def deep(v: Array, *own: Array) -> Array:
        for one in own:
            v = np.tanh(v @ one.T)
        return v

    check_all({"fifty": Program(y, [x, *weights], deep)})
