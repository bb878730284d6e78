"""A dump of a built function, fed to `mlirad-opt`, gives the loops that ran; its code for GPUs
passes the assembler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from te.contractions import Program, conv2d, matmul
from te.lowered import lowered

import mlirad as ti
from benchmarks.assembler import assemble, tool
from mlirad import te
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.program import program
from mlirad.te.tensor_kernel import LOWER, SIMPLIFY

PROGRAMS: dict[str, Program] = {
    "matmul": matmul,
    "convolution": lambda: conv2d(padding=(1, 1, 1, 1)),
    "strided, dilated": lambda: conv2d(stride=(2, 3), dilation=(3, 2)),
}


def _step(name: str) -> te.Built:
    output, inputs = PROGRAMS[name]()
    head = te.placeholder(output.shape, name="head")
    return te.build([output, *te.differentiate(output, inputs, head=head)], [*inputs, head])


def _without_locations(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#loc"))


def _replayed(text: str, pipeline: str, folder: Path) -> str:
    file = folder / "dump.mlir"
    file.write_text(text)
    command = [sys.executable, "-m", "mlirad_opt", str(file), "--pass-pipeline", pipeline]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return _without_locations(done.stdout)


def test_definitions_replay(tmp_path: Path) -> None:
    ti.init()
    step = _step("convolution")
    expected = _replayed(str(lowered(step)), "builtin.module()", tmp_path)
    found = _replayed(step.ir("te"), f"builtin.module({SIMPLIFY},{LOWER})", tmp_path)
    assert found == expected and "scf.parallel" in found


def test_loops_replay(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=2)
    step = _step("matmul")
    stages = program().executor.stages(PRIMAL, program().config)
    expected = _replayed(step.ir(stages[-1].name), "builtin.module()", tmp_path)
    assert _replayed(step.ir("field"), join(stages), tmp_path) == expected


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
