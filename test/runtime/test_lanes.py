"""Kernels with iterations as lanes leave in memory what they leave without, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from programs.machines import CASES, left_by

import mlirad as ti
from mlirad.passes.cpu import _lane_cost
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
    monkeypatch.setattr(_lane_cost, "LONG", 0)
    test_lanes_change_no_bit(name, mode, width)


@pytest.mark.parametrize("lanes", [0, 3, 32, "many"])
def test_lanes_out_of_range(lanes: object) -> None:
    with pytest.raises(ValueError, match=rf"lanes=\) is one of 1, 4, 8, 16, not {lanes!r}"):
        ti.init(lanes=lanes)


def test_lanes_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_LANES", "4")
    ti.init()
    assert program().config.lanes == 4
    ti.init(lanes=8)
    assert program().config.lanes == 8
    monkeypatch.setenv("MLIRAD_LANES", "3")
    with pytest.raises(ValueError, match="MLIRAD_LANES is one of 1, 4, 8, 16, or not set, not '3'"):
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
