"""PTX of derivatives of every mode, of examples and of benchmarks: NVIDIA's assembler takes it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from programs.gpu_kernels import KERNELS, REVERSED

import mlirad as ti
from benchmarks.assembler import Assembled, assemble, tool
from benchmarks.ptx_table import compiled_texts
from benchmarks.workload import GRADIENT_SIZES
from mlirad.ad.forward.duals import Duals
from mlirad.examples import gravity, throw
from mlirad.pipeline.mode import parse_mode
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import program

CHIP = "sm_90"
CHIPS = ("sm_80", "sm_90", "sm_100")
WITH_HESSIANS = ("saxpy_sum", "nbody")
# bytes: 64 registers are two too few for what nine points of the grid read
SPILLED = {"mpm2d scatter reverse scatter_0": 16}
DERIVATIVES = ("reverse", "forward", "forward-reverse")

pytestmark = pytest.mark.skipif(
    tool("ptxas") is None, reason="no ptxas: neither on the path nor in the wheel nvidia-cuda-nvcc"
)


@pytest.fixture(autouse=True)
def fresh_program() -> Iterator[None]:
    """A program of its own for every test."""
    ti.init(opt_level=0)  # of the CPU's code
    yield
    ti.reset()


def with_duals(name: str) -> Variant:
    """A kernel whose fields, and their gradients, have tangents where they can."""
    kernel, arguments = KERNELS[name]()
    variant: Variant = kernel.prepare(program(), arguments, {}).variant
    duals, adjoints = Duals(program(), 1), program().derivatives.adjoints
    for symbol in variant.kernel.fields:
        if symbol in adjoints:
            duals.give(symbol)
    program().trees.materialize()
    variant.refresh()
    return variant


@pytest.mark.parametrize("mode", DERIVATIVES)
@pytest.mark.parametrize("name", REVERSED)
def test_derivatives(name: str, mode: str) -> None:
    """Of every kernel that has one."""
    assert assemble(with_duals(name).stages.ptx(parse_mode(mode), CHIP))


@pytest.mark.parametrize("chip", CHIPS)
def test_chips(chip: str) -> None:
    """A few, on each chip."""
    for name in ("stencil", "functions-f32"):
        stages = with_duals(name).stages
        for mode in ("primal", "reverse"):
            assert assemble(stages.ptx(parse_mode(mode), chip))


def assembled(title: str) -> dict[str, Assembled]:
    """Every kernel of the modes that were launched."""
    return {
        f"{text.title} {kernel.name}": kernel
        for text in compiled_texts(title, CHIP)
        for kernel in assemble(text.ptx)
    }


@pytest.mark.parametrize("name", GRADIENT_SIZES)
def test_benchmarks(name: str) -> None:
    """Launched with gradients, some with Hessians: nothing spills, and nothing is on the stack, but
    what is listed."""
    workload = importlib.import_module(f"benchmarks.workloads.{name}").build(ti, 64)
    with ti.ad.Tape(workload.loss):
        workload.forward()
    if name in WITH_HESSIANS:
        workload.reset()
        direction = np.ones_like(workload.inputs[0].to_numpy())
        ti.ad.hvp(workload.forward, workload.loss, workload.inputs[0], direction)
    found = assembled(name)
    assert name not in WITH_HESSIANS or any("forward-reverse" in kernel for kernel in found)
    spilled = {name: kernel.spilled for name, kernel in found.items()}
    assert {name: size for name, size in spilled.items() if size > SPILLED.get(name, 0)} == {}
    local = {name: kernel.local for name, kernel in found.items() if name not in SPILLED}
    assert {name: size for name, size in local.items() if size} == {}


def test_examples(tmp_path: Path) -> None:
    """The programs to read first."""
    throw.main(["--particles", "60", "--steps", "256", "--iterations", "1", "--memory", "2MB"])
    assert assembled("throw")
    gravity.main(["--bodies", "8", "--steps", "6", "--output", str(tmp_path / "orbits.png")])
    assert assembled("gravity")
