"""The notebooks run, and print what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from guide_programs import differences
from notebooks import NOTEBOOKS, printed_numbers

NEEDED = ("nbclient", "ipykernel")
_RUN = "import json, sys, notebooks; print(json.dumps(notebooks.executed(sys.argv[1])))"


@pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED),
    reason="nbclient and ipykernel, of the extra 'docs', are not installed",
)
@pytest.mark.parametrize("file", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.stem)
def test_a_notebook_shows_what_it_says(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, file.stem],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said, found = json.loads(file.read_text()), json.loads(done.stdout)
    assert not differences(printed_numbers(said), printed_numbers(found))


def test_there_are_three() -> None:
    assert len(list(NOTEBOOKS.glob("*.ipynb"))) == 3
