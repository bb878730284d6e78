"""A death inside MLIR is an error with a place, and leaves a reproducer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DYING = """
import os, signal, sys
from mlirad_opt import load_compiler
load_compiler()
from mlirad.pipeline import opt
from mlirad.pipeline.registry import find_pass
import mlirad.passes.loops.hoist_loads as hoisting


def hoist_loads(root):
    os.kill(os.getpid(), signal.SIGSEGV)


hoisting.hoist_loads = hoist_loads
sys.exit(opt.main(sys.argv[1:]))
"""


def test_a_death_is_reported(tmp_path: Path) -> None:
    """The chunk, the pass and the signal are named; what `-o` names stays as it is; the reproducer
    has the pipeline."""
    program, output, reproducer = (
        tmp_path / "p.mlir",
        tmp_path / "out.mlir",
        tmp_path / "reproducer.mlir",
    )
    program.write_text("func.func @f() {\n  return\n}\n")
    output.write_text("as before")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            DYING,
            str(program),
            "-o",
            str(output),
            "--cse",
            "--hoist-loads",
            f"--mlir-pass-pipeline-crash-reproducer={reproducer}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        f"{program}:1:1: error: running hoist-loads: MLIR ended the process by SIGSEGV"
        in done.stderr
    )
    assert output.read_text() == "as before"
    assert 'pipeline: "builtin.module(cse,hoist-loads)"' in reproducer.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.mlir",
        "p.mlir",
        "reproducer.mlir",
    ]


def test_permissions_of_an_output_stay(tmp_path: Path) -> None:
    """A file that is replaced keeps its mode, and a link stays a link."""
    target, link = tmp_path / "target.mlir", tmp_path / "link.mlir"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    subprocess.run(
        [sys.executable, "-m", "mlirad_opt", "-", "-o", str(link)],
        input="func.func private @f()\n",
        text=True,
        check=True,
    )
    assert link.is_symlink()
    assert "func.func private @f()" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640
