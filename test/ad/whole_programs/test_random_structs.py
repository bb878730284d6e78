"""Random programs over fields of structs against the same programs over separate fields: values and
gradients to the bit. A failing program is printed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from programs.in_structs import in_structs
from programs.load import load
from programs.plain import Writer, inputs

import mlirad as ti

COUNT = 6


def results(source: str, folder: Path) -> list[Any]:
    """What a program leaves in its fields, and their gradients."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, fast_math=False)
    program = load(source, folder)
    fields = [program.x, program.y, program.w, program.z, program.u]
    for seed, field in enumerate(fields[:3]):
        field.from_numpy(inputs(field.to_numpy().shape, seed))
    program.n.from_numpy(np.array(Random(1).choices(range(6), k=6), np.int32))
    with ti.ad.Tape(program.loss):
        program.run()
    values = [program.loss, program.c, program.n, *fields]
    return [field.to_numpy() for field in [*values, *(field.grad for field in fields)]]


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_programs_over_structs(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    source = Writer(random).program()
    other = in_structs(source, random, random.choice(["AOS", "SOA"]))
    try:
        expected = results(source, tmp_path)
        for one, two in zip(results(other, tmp_path), expected, strict=True):
            np.testing.assert_array_equal(one, two)
    except Exception:
        print(other)
        raise
    assert any(np.any(array != 0) for array in expected[8:])
