"""What JAX is needed for, in a process of its own: it warns of every fork of one that has it, and
`mlirad-opt` forks."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
@pytest.mark.parametrize("file", ["jax_arrays.py", "jax_programs.py"])
def test_with_jax(file: str) -> None:
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", str(HERE / file)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=HERE.parents[1]
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
