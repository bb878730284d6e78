"""How much `mlirad-opt` loads before it does something."""

from __future__ import annotations

import resource
import subprocess
import sys

from mlirad.bindings import PROVIDER

WORK = "func.func @f(%x: f32) -> f32 {\n  %0 = arith.addf %x, %x : f32\n  return %0 : f32\n}\n"
SHOW_MODULES = """
import sys
import mlirad_opt
mlirad_opt.load_compiler()
from mlirad.pipeline import opt
from mlirad.pipeline.opt import command
with opt.context():
    settings = command.parse_command(["--hoist-loads"])
opt.run(settings, opt.Progress())
print(*sys.modules)
"""


def _seconds(*command: str) -> float:
    """What a process spends on a processor, which others on the machine hardly change."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command], input=WORK, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_only_the_compiler_is_loaded() -> None:
    """Neither the language, nor NumPy, nor llvmlite, nor a pass that was not asked for."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES], input=WORK, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "mlirad.passes.loops.hoist_loads" in loaded
    assert not loaded & {
        "mlirad.lang",
        "mlirad.frontend",
        "numpy._core",
        "llvmlite",
        "mlirad.passes.derivative.differentiate_reverse",
    }


def test_numpy_is_there_when_it_is_used() -> None:
    """Upstream's builders of attributes use it."""
    program = "import mlirad_opt; mlirad_opt.load_compiler(); import numpy; print(numpy.ones(2))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[1. 1.]\n"


def test_it_starts_as_fast_as_the_bindings() -> None:
    """A pass over a small program takes at most twice as long as to import MLIR's bindings,
    whatever the machine."""
    turns = [
        (_seconds("-m", "mlirad_opt", "--hoist-loads"), _seconds("-c", f"import {PROVIDER}.ir"))
        for _ in range(5)
    ]
    ours, upstream = (min(times) for times in zip(*turns))
    assert ours <= 2.0 * upstream
