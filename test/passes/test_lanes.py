"""Kernels with iterations as lanes leave in memory what they leave without, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from programs.machines import CASES, left_by

import mlirad as ti
from mlirad.analysis.lanes import cost
from mlirad.runtime.program import program

WIDTHS = (4, 8, 16)
PICKED = [(*case, WIDTHS[number % 3]) for number, case in enumerate(CASES)]

pytestmark = pytest.mark.cpu_code("lanes of its vectors")


@pytest.mark.parametrize(("name", "mode", "width"), PICKED)
def test_lanes_change_no_bit(name: str, mode: str, width: int) -> None:
    expected = left_by("x64", name, mode, lanes=1)
    found = left_by("x64", name, mode, lanes=width)
    assert expected.keys() == found.keys()
    for symbol, values in expected.items():
        np.testing.assert_array_equal(found[symbol], values, err_msg=symbol)


@pytest.mark.parametrize(("name", "mode", "width"), PICKED[::5])
def test_long_bodies_change_no_bit(
    name: str, mode: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are long: one loop with masks, where that is cheap."""
    monkeypatch.setattr(cost, "LONG", 0)
    test_lanes_change_no_bit(name, mode, width)


@pytest.mark.parametrize("lanes", [0, 3, 32, "many"])
def test_lanes_out_of_range(lanes: object) -> None:
    with pytest.raises(ValueError, match=rf"lanes=\): expected one of 1, 4, 8, 16, got {lanes!r}"):
        ti.init(lanes=lanes)


def test_lanes_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_LANES", "4")
    ti.init()
    assert program().config.lanes == 4
    ti.init(lanes=8)
    assert program().config.lanes == 8
    monkeypatch.setenv("MLIRAD_LANES", "3")
    with pytest.raises(
        ValueError, match="MLIRAD_LANES: expected one of 1, 4, 8, 16, or no such variable, got '3'"
    ):
        ti.init()


def test_explain_says_which_loop_runs_in_lanes() -> None:
    ti.init(cpu_max_num_threads=1)
    x = ti.field(ti.f32, (64, 9), needs_grad=True)
    y = ti.field(ti.f32, 64, needs_grad=True)

    @ti.kernel
    def recurrences():
        for i in range(64):
            s = 0.0
            for k in range(9):
                s = s * x[i, k] + x[i, k] * s * s + 1.0
            y[i] = s

    primal = [text for text in recurrences.explain().remarks if ": primal: " in text]
    assert len(primal) == 1
    assert "test_lanes.py:" in primal[0]
    assert "iterations run as lanes" in primal[0]


def _streamed(size: int, begin: int, end: int, options: dict[str, Any]) -> list[Any]:
    """What a step of nine velocities, of which neighbours around a circle give each one, leaves of
    cells, and its gradient."""
    ti.init(cpu_max_num_threads=1, **options)
    cells = ti.Vector.field(9, ti.f32, (2, size), needs_grad=True)
    rows = ti.Struct.field({"mass": ti.f32, "speed": ti.types.vector(4, ti.f32)}, shape=size)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def step(first: ti.i32, last: ti.i32):
        for j in range(first, last):
            came = ti.Vector([0.0] * 9)
            mass, speed = 0.0, 0.0
            for q in ti.static(range(9)):
                came[q] = cells[0, (j - (q % 3 - 1) + size) % size][q]
                mass += came[q]
                speed += (q % 3 - 1) * came[q]
            for q in ti.static(range(9)):
                rest = mass * (1.0 + 3.0 * (q % 3 - 1) * speed / mass + q * speed * speed)
                cells[1, j][q] = came[q] + 1.2 * (rest - came[q])
            rows[j].mass = 2.0 * mass
            rows[j].speed = ti.Vector([mass, speed, mass * speed, rows[j].speed[1]])

    @ti.kernel
    def total():
        for j, q in ti.ndrange(size, 9):
            loss[None] += cells[1, j][q] * cells[1, j][q]

    values = np.random.default_rng(3).uniform(0.5, 1, (2, size, 9)).astype(np.float32)
    cells.from_numpy(values)
    rows.speed.from_numpy(values[0, :, :4])
    with ti.ad.Tape(loss):
        step(begin, end)
        total()
    return [a.to_numpy() for a in (cells, rows.mass, rows.speed, cells.grad)]


@pytest.mark.parametrize(
    ("size", "begin", "end", "widths"),
    [(1, 0, 1, [4]), (9, 3, 3, [8]), (13, 0, 13, WIDTHS), (40, 0, 40, [8]), (67, 1, 66, WIDTHS)],
)
def test_rows_of_components_change_no_bit(
    size: int, begin: int, end: int, widths: Sequence[int]
) -> None:
    exact = {"fast_math": False}
    expected = _streamed(size, begin, end, {"lanes": 1, **exact})
    for width in widths:
        for wanted, found in zip(expected, _streamed(size, begin, end, {"lanes": width, **exact})):
            np.testing.assert_array_equal(found, wanted)
    for wanted, found in zip(expected, _streamed(size, begin, end, {"lanes": widths[-1]})):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
