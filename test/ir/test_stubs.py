"""The types of MLIR's Python bindings, as mypy sees them."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlirad import bindings

ROOT = Path(__file__).parent.parent.parent
MISTAKES = Path(__file__).parent / "mistakes.py"
STUBS = ROOT / "mlirad" / "bindings"
MADE_LATER = ("DiagnosticHandler", "Dialect")  # by calls, and for subclasses


def test_mypy_reports_every_mistake() -> None:
    """Each line of the file of mistakes is reported, and no other."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(MISTAKES)]
    report = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    reported = {int(line) for line in re.findall(r"mistakes\.py:(\d+): error", report.stdout)}
    body = ast.parse(MISTAKES.read_text()).body[-1]
    assert isinstance(body, ast.FunctionDef)
    expected = {statement.lineno for statement in body.body[1:]}
    assert reported == expected, report.stdout + report.stderr


def declared(module: str) -> Iterator[tuple[str, ...]]:
    """What a stub says that there is in a module, with the classes that it is in."""
    pending: list[tuple[tuple[str, ...], ast.stmt]] = [
        ((), node) for node in ast.parse((STUBS / f"{module}.pyi").read_text()).body
    ]
    for scope, node in pending:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield (*scope, node.name)
            pending += [((*scope, node.name), child) for child in node.body]
        elif isinstance(node, ast.FunctionDef) and node.name != "__init_subclass__":
            yield (*scope, node.name)


@pytest.mark.parametrize("module", ["ir", "ext", "__init__"])
def test_what_the_stubs_declare_is_there(module: str) -> None:
    """A stub invents nothing."""
    for names in declared(module):
        if names[0] in MADE_LATER or names[-1] == "__iter__":  # else it is by position
            continue
        found: object = bindings if module == "__init__" else getattr(bindings, module)
        for name in names:
            assert hasattr(found, name), f"{module}.pyi: {'.'.join(names)}"
            found = getattr(found, name)
