"""Floats in PTX: f64 is IEEE's, and nothing that an instruction gives is the other infinity."""

from __future__ import annotations

import re
from typing import Any

import pytest

import mlirad as ti

MODES = ("primal", "reverse", "forward")
ROOT = re.compile(r"r?sqrt\.\w+(?:\.ftz)?\.f\d+ *\t?(%\w+), (%\w+);")


def text_of(function: Any, dtype: Any, mode: str, **options: Any) -> str:
    """The PTX of a loop over what a function makes of elements."""
    ti.init(default_fp=dtype, **options)
    x, y = (ti.field(dtype, 10, needs_grad=True, needs_dual=True) for _ in range(2))

    @ti.kernel
    def run() -> None:
        for i in x:
            y[i] = function(x[i])

    return run.ptx(mode=mode, chip="sm_90")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fast_math", [True, False])
def test_roots_and_quotients_of_doubles_are_exact(mode: str, fast_math: bool) -> None:
    """Reciprocal roots too: as a CPU has them."""

    @ti.func
    def f(x: ti.f64) -> ti.f64:
        return ti.rsqrt(x) + ti.sqrt(x + 1.0) / (x * x + 2.0)

    text = text_of(f, ti.f64, mode, fast_math=fast_math)
    assert "sqrt.rn.f64" in text and ".approx" not in text and ".full" not in text


@pytest.mark.parametrize("mode", MODES)
def test_reciprocal_roots_without_fast_math_are_exact(mode: str) -> None:
    text = text_of(ti.rsqrt, ti.f32, mode, fast_math=False)
    assert "sqrt.rn.f32" in text and ".approx" not in text and ".full" not in text


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("name", ["acos", "asin", "acosh"])
def test_a_root_that_is_divided_by_is_of_no_negative(name: str, dtype: Any, mode: str) -> None:
    """-(x * x - 1) at 1 is -0, and what its root divides the other infinity."""
    text = text_of(getattr(ti, name), dtype, mode)
    roots = ROOT.findall(text)
    assert roots
    for _, radicand in roots:
        assert not re.search(rf"neg\.f\d+ *\t?{radicand},", text)
