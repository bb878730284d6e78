"""Random programs with iterations as lanes against the same without."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from programs.load import load
from programs.plain import Writer, inputs

import mlirad as ti
from mlirad.pipeline.runner import VERIFY

COUNT, WIDTHS = 24, (4, 4, 8)  # 6 iterations: 4 and 2 of them, or 6 of 8
CLOSE = 1e-9  # sums are taken in another order

pytestmark = pytest.mark.cpu_code("lanes of its vectors")


def left(source: str, folder: Path, lanes: int) -> dict[str, Any]:
    """What a program leaves in its fields, and its gradients."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, lanes=lanes)
    program = load(source, folder)
    for seed, field in enumerate((program.x, program.y, program.w)):
        field.from_numpy(inputs(field.to_numpy().shape, seed))
    program.n.from_numpy(np.array(Random(1).choices(range(6), k=6), np.int32))
    with ti.ad.Tape(program.loss):
        program.run()
    names = ("x", "y", "u", "z", "w", "n", "c", "loss")
    found = {name: getattr(program, name).to_numpy() for name in names}
    slopes = {name: getattr(program, name).grad.to_numpy() for name in ("x", "y", "w")}
    return found | {f"{name}.grad": slope for name, slope in slopes.items()}


def check_lanes(seed: int, folder: Path) -> None:
    """Write one program, and run it both ways."""
    source = Writer(Random(seed)).program()
    expected = left(source, folder, 1)
    found = left(source, folder, WIDTHS[seed % len(WIDTHS)])
    for name, values in expected.items():
        try:
            np.testing.assert_allclose(found[name], values, CLOSE, CLOSE, err_msg=name)
        except AssertionError:
            print(source)
            raise


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.delenv(VERIFY)  # as users compile
    check_lanes(seed, tmp_path)
