"""A sample of random programs; `random_check.py` runs more."""

from __future__ import annotations

import pytest
from te.random_check import TOGETHER, check_programs

import mlirad as ti


@pytest.mark.parametrize("first", range(60, 80, TOGETHER))
def test_random_programs(first: int) -> None:
    ti.init(default_fp=ti.f64, opt_level=1, cpu_max_num_threads=1 + first // TOGETHER % 2)
    check_programs(range(first, first + TOGETHER))
