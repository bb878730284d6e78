"""Every test starts a program of its own."""
from __future__ import annotations

from typing import Any

import pytest

import mlirad as ti
from mlirad.passes import split_parallel_loops


@pytest.fixture(params=[1, 2], ids=["one_thread", "two_threads"])
def f64(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program in double precision, on one thread and on two, which share loops of any length."""
    monkeypatch.setattr(split_parallel_loops, "WORTH_A_THREAD", 0)
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)
    yield request.param
    ti.reset()
