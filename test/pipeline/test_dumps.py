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


def _code(text: str) -> str:
    """Leave out what passes noted on the module, with the lines of the program."""
    return text.partition("\n")[2]


@pytest.mark.parametrize("mode", ["primal", "reverse"])
def test_every_dump_replays(mode: str, tmp_path: Path) -> None:
    kernel = _kernel()
    stages = program().executor.stages(parse_mode(mode), program().config)
    final = replayed(
        kernel.ir(3, 0.5, stage=stages[-1].name, mode=mode, locations=True),
        "builtin.module()",
        tmp_path,
    )
    names = ["field", *(stage.name for stage in stages)]
    for position, name in enumerate(names[:-1]):
        dump = kernel.ir(3, 0.5, stage=name, mode=mode, locations=True)
        assert replayed(dump, join(stages[position:]), tmp_path) == final, name
    dump = kernel.ir(3, 0.5, mode=mode)  # whose ops have the lines of the dump itself
    assert _code(replayed(dump, join(stages), tmp_path)) == _code(final)


def test_dumps_have_locations_if_asked() -> None:
    kernel = _kernel()
    for stage in ("field", "normal", "target"):
        assert "loc(" not in kernel.ir(3, 0.5, stage=stage)
        assert "test_dumps.py" in kernel.ir(3, 0.5, stage=stage, locations=True)


def test_trees_stand_behind_functions() -> None:
    kernel = _kernel()
    for stage in ("field", "normal", "derived"):
        text = kernel.ir(3, 0.5, stage=stage, mode="reverse")
        functions, root, trees = text.partition("snode.root")
        assert root and "func.func" in functions and "func.func" not in trees


def test_what_is_printed_of_every_pass_has_trees_behind(capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=ti.cpu, print_ir=True, offline_cache=False)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2

    double()
    first, *_ = capsys.readouterr().out.split("// double (primal) after ")[1:]
    assert "loc(" not in first
    assert 0 < first.index("func.func") < first.index("snode.root")


def test_trees_are_left_out_if_asked() -> None:
    text = _kernel().ir(3, 0.5, trees=False)
    assert "snode" not in text
    assert text.splitlines()[-1].startswith("// layout trees left out: @S0, @S")


def test_functions_over_arrays_have_no_trees() -> None:
    ti.init(arch=ti.cpu)
    a = ti.ndarray(ti.f32, 4)

    @ti.kernel
    def double(a: ti.types.ndarray()):
        for i in a:
            a[i] *= 2

    assert double.ir(a, trees=False) == double.ir(a)


def test_unknown_stages_and_modes_are_named() -> None:
    kernel = _kernel()
    with pytest.raises(ValueError, match="unknown stage 'nowhere'"):
        kernel.ir(3, 0.5, stage="nowhere")
    with pytest.raises(ValueError, match="unknown mode 'sideways'"):
        kernel.ir(3, 0.5, mode="sideways")
