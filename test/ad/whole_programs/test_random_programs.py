"""Random programs against finite differences. A failing program is printed, and stays in pytest's
temporary folder."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from gradients import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs.load import load
from programs.plain import Writer, inputs

import mlirad as ti
from mlirad.pipeline.runner import VERIFY

COUNT = 40


def check_program(random: Random, folder: Path, threads: int = 1) -> None:
    """Write one program, run it, compare its gradient."""
    source = Writer(random).program()
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    program = load(source, folder)
    for seed, field in enumerate((program.x, program.y, program.w)):
        field.from_numpy(inputs(field.to_numpy().shape, seed))
    program.n.from_numpy(Random(1).choices(range(6), k=6))
    try:
        check(program.run, [program.x, program.y, program.w], program.loss)
    except Exception:
        print(source)
        raise


@pytest.mark.rotating
@settings(
    max_examples=COUNT,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(st.integers(0, 2**32))
def test_random_programs(tmp_path: Path, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VERIFY, raising=False)  # as users compile
        check_program(Random(seed), tmp_path)
