"""The example of docs/foreign-dialects.md does what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/foreign-dialects.md").read_text()
PROGRAMS = {"mlirad-run": "mlirad.mlir.run", "mlirad-opt": "mlirad_opt"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    path = tmp_path_factory.mktemp("page")
    files = re.findall(r"```\w+ (\w+\.\w+)\n(.*?)```", PAGE, re.DOTALL)
    assert [name for name, _ in files] == ["shapes.irdl", "shapes.py", "layer.mlir", "check.py"]
    for name, text in files:
        (path / name).write_text(text)
    return path


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COMMANDS = re.findall(r"^(mlirad-\w+) (.*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("program", "arguments"), COMMANDS)
def test_commands(folder: Path, program: str, arguments: str) -> None:
    output = run(folder, "-m", PROGRAMS[program], *arguments.split())
    assert ("all 6 derivatives agree" in output) == ("--check" in arguments)
    assert ("grad.custom" in output) == (program == "mlirad-opt")


def test_the_check(folder: Path) -> None:
    assert len(COMMANDS) == 3
    run(folder, "check.py")
