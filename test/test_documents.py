"""Programs in docs/ print what stands behind their `print`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(("document", "prints"), [("transforms", 10), ("forward-mode", 5)])
def test_the_programs_of(document: str, prints: int, tmp_path: Path) -> None:
    program = "\n".join(
        re.findall(r"```python\n(.*?)```", (DOCS / f"{document}.md").read_text(), re.DOTALL)
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^print\(.*  # (.*)$", program, re.MULTILINE)
    assert len(said) >= prints
    assert [_words(line) for line in done.stdout.splitlines()] == [_words(line) for line in said]


def _words(line: str) -> list[str]:
    """What is printed, however NumPy pads its columns."""
    return re.sub(r"([\[\]])", r" \1 ", line).split()
