"""The site: examples of the reference run by themselves, and docstrings become Markdown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from pygments import lex
from pygments.token import Comment, Keyword, Name, Number
from website.docstrings import as_markdown
from website.elsewhere import ELSEWHERE, KEYWORDS
from website.examples_by_name import examples, mention_of
from website.mlir_lexer import MlirLexer

ROOT = Path(__file__).parents[1]
PRELUDE = """import numpy as np

import mlirad as ti
from mlirad import te
from mlirad.te import nn

ti.init(arch=ti.cpu)
"""
RUN_ALL = """import runpy, sys
for file in sys.argv[1:]:
    print(file)
    runpy.run_path(file)
"""


@cache
def programs() -> dict[str, list[str]]:
    """Return the programs of the reference that need one process, by their namespaces."""
    spaces: dict[str, list[str]] = {}
    for name, program in examples().items():
        space = name.rpartition(".")[0]
        if space not in ("dist", "ensemble") and program not in spaces.setdefault(space, []):
            spaces[space].append(program)
    return spaces


@pytest.mark.parametrize("space", sorted(programs()))
def test_each_example_runs_by_itself(space: str, tmp_path: Path) -> None:
    files = []
    for number, program in enumerate(programs()[space]):
        files.append(tmp_path / f"{space}_{number}.py")
        files[-1].write_text(PRELUDE + program)
    blind = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    command = [sys.executable, "-c", RUN_ALL, *map(str, files)]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=blind, cwd=tmp_path
    )
    assert run.returncode == 0, run.stdout.splitlines()[-1] + run.stderr


def test_an_example_is_about_its_name() -> None:
    shown = examples()
    assert shown["ti.abs"] == "assert ti.abs(-2) == 2"
    assert shown["ti.math.cinv"].splitlines()[-1] == "assert ti.math.cinv(i_).y == -1"
    assert "raw_div" not in shown["ti.cast"] and "ti.bit_cast" in shown["ti.bit_cast"]
    for name, program in shown.items():
        assert mention_of(name, [program]).search(program), name


def test_sections_of_docstrings_become_lists() -> None:
    docstring = """Return the sum.

Args:
    x: the first number,
        of any type.
    *rest: more.

Raises:
    ValueError: there is none.

Example:
    total(1, 2)

The end."""
    assert as_markdown(docstring).split("\n\n") == [
        "Return the sum.",
        "\n**Arguments**",
        "- `x`: the first number, of any type.\n- `*rest`: more.",
        "\n**Raises**",
        "- `ValueError`: there is none.",
        "\n**Example**",
        "```python\ntotal(1, 2)\n```",
        "The end.",
    ]
    assert as_markdown("Example:\n    `x` has no derivative.").endswith(
        "\n\n`x` has no derivative."
    )
    assert as_markdown("Args: as text.\n\n    code") == "Args: as text.\n\n    code"


def test_mlir_has_colors() -> None:
    text = '%r:2 = field.load @x[%i] {a = 1.5e-3} : !field.array<f32, [4]> // "no"\n'
    kinds = {value: kind for kind, value in lex(text, MlirLexer())}
    assert kinds["%r:2"] is kinds["%i"] is Name.Variable and kinds["@x"] is Name.Function
    assert kinds["field.load"] is Name.Builtin and kinds["1.5e-3"] is Number
    assert kinds["!field.array"] is kinds["f32"] is Keyword.Type
    assert kinds['// "no"'] is Comment.Single


def test_other_names_belong_to_names_and_pages() -> None:
    """Every name has an entry in the reference, and every page is in the navigation."""
    assert not {*ELSEWHERE} - {*examples()}
    pages = re.findall(r"- ([\w./-]+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(pages) > 50 and not {*KEYWORDS} - {*pages}
