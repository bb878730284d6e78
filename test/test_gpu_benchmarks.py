"""`python -m benchmarks.gpu` without a GPU, and who is compared there."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from runtime.cuda.stub import Stub

from benchmarks.driver import Case, measure
from benchmarks.gpu.by_hand_programs import PROGRAMS, Kernels, source
from benchmarks.gpu.cases import CASES
from benchmarks.gpu.peers import find_gpu_systems, has_case
from benchmarks.gpu.starts import start
from benchmarks.report import disagreements
from benchmarks.systems import OURS, System
from mlirad.runtime.cuda.cuda_driver import CudaDriver

ROOT = Path(__file__).parent.parent


def test_a_rehearsal(tmp_path: Path) -> None:
    """Over the stub, at small sizes: a table, and gradients that are the CPU's."""
    table = tmp_path / "table.txt"
    command = [sys.executable, "-m", "benchmarks.gpu", "--stub", "--quick", "--no-tests"]
    command += ["--rounds", "1", "--only", "saxpy_sum", "matmul", "--output", str(table)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = table.read_text()
    assert text.count("the gradient is that of the CPU") == 2
    assert text.count("| mlirad |") == 2


def test_a_system_that_is_slow(tmp_path: Path) -> None:
    """It has so many seconds, and the others are measured."""
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    systems = [System("slow", str(slow)), System(OURS, sys.executable)]
    case = Case("saxpy_sum", 1000)
    results = measure(case, [systems[0]], 1, 0.5) | measure(case, [systems[1]], 1, 200)
    assert results["slow"].error == "not done in 0.5 s"
    assert results[OURS].median("gradient") is not None


@pytest.mark.skipif(find_spec("jax") is None, reason="no JAX")
@pytest.mark.parametrize("case", ["stencil2d", "mass_spring"])
def test_others_compute_the_same(case: str) -> None:
    """Programs of JAX have our gradients."""
    chosen = next(one for one in CASES if one.name == case)
    systems = [System(name, sys.executable) for name in (OURS, "jax")]
    assert all(has_case(system, case) for system in systems)
    one = Case(case, chosen.quick, steps=min(chosen.steps, 6))
    assert disagreements(one, measure(one, systems, 1, 200)) == []


@pytest.mark.parametrize("case", [one.name for one in CASES if one.name != "mpm2d"])
def test_numbers_that_programs_begin_with(case: str) -> None:
    """Of every case, floats of 32 bits or integers."""
    for array in start(case, 8).values():
        assert array.dtype in (np.float32, np.int32)


def test_without_a_gpu_others_are_not_looked_for() -> None:
    """Only those that are named."""
    names = [system.name for system in find_gpu_systems(["jax=python"], alone=True)]
    assert names == [OURS, "jax"]


@pytest.mark.skipif(source() is None, reason="no by_hand.cu")
@pytest.mark.parametrize(("case", "size"), [("saxpy_sum", 4096), ("stencil2d", 64), ("nbody", 256)])
def test_what_is_written_by_hand(case: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its launches are such as the driver takes; a stub does not run them."""
    entries = ("saxpy_sum", "saxpy_sum_reverse", "swing", "swing_reverse", "potential")
    text = "".join(f".entry {name}(\n" for name in (*entries, "potential_reverse"))
    monkeypatch.setattr(
        "benchmarks.gpu.by_hand_programs._compiled",
        lambda *_: f".target sm_90\n{text}".encode() + b"\0",
    )
    stub = Stub()
    driver = CudaDriver(stub.functions())
    program = PROGRAMS[case](driver, Kernels(driver, size), size, 6)
    program.primal()
    program.gradient()
    assert all(np.isfinite(array).all() for array in program.gradients())
    assert stub.mistakes == [] and stub.counts["cuLaunchKernel"] >= 3
