"""Colours as triples and as integers."""

from __future__ import annotations

import numpy as np

import mlirad as ti


def test_one_colour() -> None:
    assert ti.rgb_to_hex((1.0, 0.0, 1.0)) == 0xFF00FF
    assert ti.rgb_to_hex((0.5, 2.0, -1.0)) == 0x7FFF00
    assert f"{ti.rgb_to_hex(ti.Vector([0.0, 0.2, 1.0])):06x}" == "0033ff"
    assert ti.hex_to_rgb(0x336600) == (0.2, 0.4, 0.0)


def test_arrays() -> None:
    colours = np.arange(0, 1 << 24, 4321, dtype=np.int32)
    components = ti.hex_to_rgb(colours)
    nearest = [one + 0.1 / 255 for one in components]
    np.testing.assert_array_equal(ti.rgb_to_hex(nearest), colours)
