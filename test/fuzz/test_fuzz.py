"""No text ends `mlirad-opt` in a traceback, a death or a hang, and every diagnostic has a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INPUTS, FOREIGN_INPUTS = 600, 100


@pytest.mark.parametrize("shard", range(2))
def test_mutated_programs(shard: int) -> None:
    """Inputs that one number makes again: `python -m fuzz NUMBER 1 -v`."""
    _require_no_failures(shard * INPUTS, INPUTS)


def test_mutated_functions_of_others() -> None:
    """`python -m fuzz NUMBER 1 -v --foreign`."""
    _require_no_failures(0, FOREIGN_INPUTS, "--foreign")


def _require_no_failures(first: int, count: int, *options: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", str(first), str(count), "-v", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert f"{count} inputs, 0 failures" in done.stdout


@pytest.mark.parametrize(("arguments", "says"), [("round-trip 8", ", 0 differ"), ("0 300", "read")])
def test_short_forms(arguments: str, says: str) -> None:
    """Whole: without the 8, and `0 10000`."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.short_forms", *arguments.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert says in done.stdout


def test_nested_branches(tmp_path: Path) -> None:
    """What nests too deep for the parser, or for an analysis, is refused with its line."""
    for depth, option in ((2500, "--cse"), (120, "--mark-needed")):
        file = tmp_path / "nested.mlir"
        file.write_text(
            "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * depth + "}\n" * depth + "return\n}\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "mlirad_opt", str(file), option],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert f"{file}:{501 if depth == 2500 else 102}:" in done.stderr
        assert "nest deeper than" in done.stderr
        assert "Traceback" not in done.stderr
