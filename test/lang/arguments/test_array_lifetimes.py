"""Arrays that nobody but a launch, or a tape, keeps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from programs.array_lifetimes import SITUATIONS

FOLDER = Path(__file__).parents[2]
# memory that is freed, or never set, holds other numbers
ENVIRONMENT = {"PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "165"}


@pytest.mark.parametrize("arch", ["cpu", "simt"])
def test_memory_lives_until_it_has_been_used(arch: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "programs.array_lifetimes", arch],
        capture_output=True,
        text=True,
        timeout=600,
        env={"PYTHONPATH": f"{FOLDER}:{FOLDER.parent}", **ENVIRONMENT},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [run.__name__ for run in SITUATIONS]
