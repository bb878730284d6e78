"""Every test starts a program of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import mlirad as ti
from mlirad.pipeline.runner import VERIFY
from mlirad.runtime.program import program

os.environ[VERIFY] = "1"  # for the programs that tests start, too


@pytest.fixture(params=[1, 2], ids=["one_thread", "two_threads"])
def f64(request: pytest.FixtureRequest) -> Iterator[int]:
    """A program in double precision: on one thread, compiled fast, every pass verified; and on two,
    which share loops of any length, as users compile it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == 2:
            patch.delenv(VERIFY)
        opt_level = {1: 0, 2: 3}[request.param]
        ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param, opt_level=opt_level)
        program().config.thread_worth = 0
        yield request.param
        ti.reset()
