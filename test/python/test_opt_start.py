"""How much `mlirad-opt` loads before it does something."""
from __future__ import annotations

import subprocess
import sys
import time

WORK = "func.func @f(%x: f32) -> f32 {\n  %0 = arith.addf %x, %x : f32\n  return %0 : f32\n}\n"
SHOW_MODULES = """
import sys
import mlirad_opt
mlirad_opt.load_compiler()
from mlirad.pipeline import command, opt
with opt.context():
    settings = command.parse_command(["--hoist-loads"])
opt.run(settings, opt.Progress())
print(*sys.modules)
"""


def _seconds(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], input=WORK, capture_output=True, text=True, check=True)
    return time.perf_counter() - start


def test_only_the_compiler_is_loaded() -> None:
    """Neither the language, nor NumPy, nor llvmlite, nor a pass that was not asked for."""
    done = subprocess.run([sys.executable, "-c", SHOW_MODULES], input=WORK, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "mlirad.passes.hoist_loads" in loaded
    assert not loaded & {"mlirad.lang", "mlirad.frontend", "numpy", "llvmlite", "mlirad.passes.differentiate_reverse"}


def test_it_starts_as_fast_as_the_bindings() -> None:
    """A pass over a small program takes at most 2.2 times as long as to import MLIR's bindings, whatever the machine."""
    bindings = "from mlirad_opt import load_compiler; load_compiler()"
    turns = [(_seconds("-m", "mlirad_opt", "--hoist-loads"), _seconds("-c", bindings)) for _ in range(5)]
    ours, upstream = (min(times) for times in zip(*turns))
    assert ours <= 2.2 * upstream
