"""Dumps, fed to `mlirad-opt`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def replayed(text: str, pipeline: str, folder: Path) -> str:
    """What a pipeline makes of a dump, without locations."""
    file = folder / "dump.mlir"
    file.write_text(text)
    command = [sys.executable, "-m", "mlirad_opt", str(file), "--pass-pipeline", pipeline]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("#loc"))
