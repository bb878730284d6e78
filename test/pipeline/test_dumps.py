"""A dump at any stage, fed to `mlirad-opt` with the rest of the pipeline, gives the code that
ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replayed import replayed

import mlirad as ti
from mlirad.pipeline.mode import parse_mode
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.program import program


def _kernel() -> Any:
    ti.init(arch=ti.cpu, cpu_max_num_threads=2)
    x = ti.field(ti.f32, 64, needs_grad=True)
    y = ti.Vector.field(2, ti.f32, shape=(8, 8), needs_grad=True)
    total = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def work(n: ti.i32, scale: ti.f32):
        for i in x:
            value = x[i]
            for k in range(n):
                value = ti.sin(value) * scale + x[(i + k) % 64]
            if value > 0.0:
                total[None] += value
        for i, j in y:
            y[i, j] += ti.Vector([x[i], x[j]]) * total[None]

    x.from_numpy(np.linspace(-1, 1, 64, dtype=np.float32))
    return work


@pytest.mark.parametrize("mode", ["primal", "reverse"])
def test_every_dump_replays(mode: str, tmp_path: Path) -> None:
    kernel = _kernel()
    stages = program().executor.stages(parse_mode(mode), program().config)
    final = replayed(
        kernel.ir(3, 0.5, stage=stages[-1].name, mode=mode), "builtin.module()", tmp_path
    )
    names = ["field", *(stage.name for stage in stages)]
    for position, name in enumerate(names[:-1]):
        dump = kernel.ir(3, 0.5, stage=name, mode=mode)
        assert replayed(dump, join(stages[position:]), tmp_path) == final, name


def test_unknown_stages_and_modes_are_named() -> None:
    kernel = _kernel()
    with pytest.raises(ValueError, match="unknown stage 'nowhere'"):
        kernel.ir(3, 0.5, stage="nowhere")
    with pytest.raises(ValueError, match="unknown mode 'sideways'"):
        kernel.ir(3, 0.5, mode="sideways")
