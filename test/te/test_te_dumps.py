"""A dump of a built function, fed to `mlirad-opt`, gives the loops that ran; its code for GPUs
passes the assembler."""

from __future__ import annotations

from pathlib import Path

import pytest
from replayed import replayed
from te.contractions import Program, conv2d, matmul
from te.lowered import lowered

import mlirad as ti
from benchmarks.assembler import assemble, tool
from mlirad import te
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.program import program
from mlirad.te.programs.tensor_kernel import LOWER, SIMPLIFY

PROGRAMS: dict[str, Program] = {
    "matmul": matmul,
    "convolution": lambda: conv2d(padding=(1, 1, 1, 1)),
    "strided, dilated": lambda: conv2d(stride=(2, 3), dilation=(3, 2)),
}


def _step(name: str) -> te.Built:
    output, inputs = PROGRAMS[name]()
    head = te.placeholder(output.shape, name="head")
    return te.build([output, *te.differentiate(output, inputs, head=head)], [*inputs, head])


def test_definitions_replay(tmp_path: Path) -> None:
    ti.init()
    step = _step("convolution")
    expected = replayed(str(lowered(step)), "builtin.module()", tmp_path)
    found = replayed(step.ir("te"), f"builtin.module({SIMPLIFY},{LOWER})", tmp_path)
    assert found == expected and "scf.parallel" in found


def test_loops_replay(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=2)
    step = _step("matmul")
    stages = program().executor.stages(PRIMAL, program().config)
    expected = replayed(step.ir(stages[-1].name), "builtin.module()", tmp_path)
    assert replayed(step.ir("field"), join(stages), tmp_path) == expected


def test_dumps_have_locations_if_asked() -> None:
    ti.init()
    step = _step("matmul")
    for stage in ("te", "field"):
        assert "loc(" not in step.ir(stage)
        assert "contractions.py" in step.ir(stage, locations=True)


def test_unknown_stages_are_named() -> None:
    ti.init()
    with pytest.raises(ValueError, match="unknown stage 'nowhere'"):
        _step("matmul").ir("nowhere")


@pytest.mark.skipif(tool("ptxas") is None, reason="no ptxas")
@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_ptx_passes_the_assembler(name: str, chip: str) -> None:
    ti.init()
    kernels = assemble(_step(name).ptx(chip), disassemble=False)
    assert len(kernels) >= 3
