"""What notebooks show of fields, ndarrays, kernels and explanations."""

from __future__ import annotations

import re
import warnings
from base64 import b64decode
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image

import mlirad as ti
from mlirad.runtime.explanation import Explanation, Row


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


def cells(html: str) -> list[list[str]]:
    """The texts of a table."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[dh]>(.*?)</t[dh]>", row) for row in rows]


def picture(html: str) -> Any:
    """The pixels of an inline PNG, rows from the top."""
    (found,) = re.findall(r"base64,([^\"]*)", html)
    return np.asarray(Image.open(BytesIO(b64decode(found))))


@pytest.mark.parametrize("make", [ti.field, ti.ndarray], ids=["field", "ndarray"])
def test_elements(make: Any) -> None:
    x = make(ti.i32, (2, 3))
    x.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert cells(x._repr_html_()) == [["0", "1", "2"], ["3", "4", "5"]]


def test_one_element_and_vectors() -> None:
    x, v = ti.field(ti.f64, ()), ti.Vector.field(2, ti.f64, 2)
    x[None] = 1.5
    v[1] = [0.25, 2.0]
    assert cells(x._repr_html_()) == [["1.5"]]
    assert cells(v._repr_html_()) == [["[0, 0]", "[0.25, 2]"]]


def test_many_elements_are_abbreviated() -> None:
    x = ti.field(ti.f64, (3, 1000, 9))
    html = x._repr_html_()
    assert [len(row) for row in cells(html)] == [9] * 9
    assert "[0, :, :]" in html and cells(html)[0][-1] == "…" and len(html) < 3000


def test_a_scalar_image_is_stretched_from_its_least_to_its_greatest() -> None:
    x = ti.field(ti.f64, (16, 20))
    x.fill(2.0)
    x[0, 19] = 4.0  # the upper left corner
    x[5, 5] = np.nan
    html = x._repr_html_()
    pixels = picture(html)
    assert pixels.shape == (20, 16) and pixels[0, 0] == 255 and pixels.sum() == 255
    assert "2 to 4 are dark to light" in html


def test_images_of_extreme_numbers() -> None:
    x = ti.field(ti.f64, (16, 16))
    x[0, 15], x[15, 15] = -1e308, 1e308  # the upper corners
    x[0, 0], x[15, 0] = -np.inf, np.inf
    pixels = picture(x._repr_html_())
    assert pixels[[0, 0, 15, 15, 7], [0, 15, 0, 15, 7]].tolist() == [0, 255, 0, 255, 127]
    x.fill(np.nan)
    assert "no number is finite" in x._repr_html_()


def test_an_image_of_colours_is_small() -> None:
    x = ti.Vector.field(3, ti.f32, (700, 300))
    x.fill(ti.Vector([0.0, 1.0, 5.0]))
    pixels = picture(x._repr_html_())
    assert pixels.shape == (150, 234, 3) and (pixels == [0, 255, 255]).all()


def test_looking_is_no_read() -> None:
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ti.ad.Tape(loss):
            total()
            loss._repr_html_()


def test_what_lies_in_no_array_is_named() -> None:
    blocked, nowhere = ti.field(ti.f64), ti.field(ti.f64)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(blocked)
    assert "(8,)" in blocked._repr_html_() and not cells(blocked._repr_html_())
    assert "not placed" in nowhere._repr_html_()


def test_a_field_of_structs() -> None:
    x = ti.Struct.field({"a": ti.f64, "b": ti.i32}, shape=2)
    assert len(cells(x._repr_html_())) == 2


def test_a_kernel() -> None:
    @ti.kernel
    def less() -> ti.i32:
        return ti.cast(1 < 2, ti.i32)

    html = less._repr_html_()
    assert "1 &lt; 2" in html and "less" in html and "1 < 2" not in html
    assert repr(less) == "<ti.kernel 'less'>"


def test_an_explanation_is_escaped() -> None:
    html = Explanation([Row("<x>", "a.py:1:2", "", "safe", 0)], ["a < b"])._repr_html_()
    assert cells(html)[1][0] == "&lt;x&gt;" and "a &lt; b" in html and "<script" not in html
