"""Tests run with `--races` record what pieces of loops access (`races.py`)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = "test/ad/whole_programs/test_equivalent_forms.py::test_arrays_of_structures"


@pytest.mark.cpu_code("the records of its loops")
def test_pieces_of_loops_are_recorded() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "--races=2", PROGRAM],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    count = re.search(r"(\d+) loops, (\d+) accesses of their pieces", run.stdout)
    assert count is not None and int(count[1]) > 4 and int(count[2]) > 100, run.stdout
