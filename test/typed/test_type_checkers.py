"""Type checkers: programs of the documents and the examples are clean, mistakes are found."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import signature
from itertools import groupby
from pathlib import Path
from types import ModuleType

import pytest
from guide_programs import GUIDE, Block, blocks_of

import mlirad as ti
from mlirad import quadrants
from mlirad.lang.field.declaration import matrix_field

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
EXAMPLES = ROOT / "mlirad" / "examples"
OTHER_SYSTEMS = ("taichi", "warp")  # which the chapter on porting shows beside mlirad
RIGHT = ("right.py", "right_quadrants.py")
FRONT = {"README.py": ROOT / "README.md", "page.py": ROOT / "docs/type-checkers.md"}
# the guide's functions have no annotations but those that mlirad asks for
MYPY = """
[mypy]
strict = True
follow_imports = silent

[mypy-guide.*]
allow_untyped_defs = True
allow_incomplete_defs = True
allow_untyped_calls = True

[mypy-examples.*]
warn_return_any = False

[mypy-scipy.*,tqdm.*,mpi4py.*,torch.*]
ignore_missing_imports = True
"""
Mistake = tuple[str, int, str]  # file, line, kind or message


def needs(block: Block) -> str:
    return block.needs


def programs() -> Iterator[tuple[str, str]]:
    """Yield the programs of the README and the guide by name: the blocks of a page are one."""
    for name, page in FRONT.items():
        yield name, "\n".join(block.code for block in blocks_of(page))
    for page in sorted(GUIDE.glob("*.md")):
        for needed, blocks in groupby(sorted(blocks_of(page), key=needs), key=needs):
            if needed not in OTHER_SYSTEMS and (not needed or find_spec(needed) is not None):
                name = re.sub(r"\W", "_", f"chapter_{page.stem}_{needed}")
                yield f"guide/{name}.py", "\n".join(block.code for block in blocks)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all programs that are checked."""
    folder = tmp_path / "typed"
    folder.mkdir()
    (folder / "guide").mkdir()
    (folder / "guide" / "__init__.py").touch()
    for name, text in programs():
        (folder / name).write_text(text)
    for name in ("wrong.py", *RIGHT):
        shutil.copy(HERE / name, folder)
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "mypy.ini").write_text(MYPY)
    return folder


def mistakes_by_mypy(folder: Path) -> list[Mistake]:
    """Return what `mypy --strict` finds in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "."],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in (0, 1) and not done.stderr, done.stdout + done.stderr
    line = re.compile(r"^(\S+?):(\d+): error: (.*)  \[([\w-]+)\]$", re.MULTILINE)
    return [(file, int(at), kind) for file, at, _, kind in line.findall(done.stdout)]


def mistakes_by_pyright(command: str, folder: Path) -> list[Mistake]:
    """Return what pyright finds in a folder."""
    # a kernel that overrides a method is another type of callable; examples may need what is not
    # installed, and the mistakes of `wrong.py` are found only if mlirad is
    ignored = (
        "reportIncompatibleMethodOverride",
        "reportIncompatibleVariableOverride",
        "reportMissingImports",
    )
    (folder / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "strict": ["README.py", "page.py", *RIGHT],
                "extraPaths": [str(ROOT)],
                "pythonVersion": "3.11",
                **dict.fromkeys(ignored, False),
            }
        )
    )
    done = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable, "--project", str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [
        (
            str(Path(mistake["file"]).relative_to(folder)),
            mistake["range"]["start"]["line"] + 1,
            mistake["message"],
        )
        for mistake in json.loads(done.stdout)["generalDiagnostics"]
        if mistake["severity"] == "error"
    ]


def expected() -> set[tuple[int, str]]:
    """Return the lines of `wrong.py` with a mistake, and its kind as mypy calls it."""
    lines = (HERE / "wrong.py").read_text().splitlines()
    kinds = [line.partition("  # ")[2] for line in lines]
    return {(number, kind) for number, kind in enumerate(kinds, 1) if kind}


def stubbed(module: Path) -> set[str]:
    """Return the public names of a stub."""
    names: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            names |= stubbed(ROOT / f"{str(node.module).replace('.', '/')}.pyi")
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names if alias.asname == alias.name}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            names.add(ast.unparse(target))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize(
    ("stub", "namespace"),
    [
        ("__init__", ti),
        ("typed/math", ti.math),
        ("typed/sparse", ti.sparse),
        ("typed/types", ti.types),
    ],
)
def test_checkers_see_the_public_names(stub: str, namespace: ModuleType) -> None:
    assert stubbed(ROOT / "mlirad" / f"{stub}.pyi") == {*namespace.__all__}


def test_checkers_see_the_names_of_quadrants() -> None:
    assert not {*quadrants.__all__} - stubbed(ROOT / "mlirad" / "quadrants" / "__init__.pyi")


def test_options_of_fields_are_parameters() -> None:
    (options,) = [
        node
        for node in ast.parse((ROOT / "mlirad" / "typed" / "arrays.pyi").read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == "Options"
    ]
    names = {ast.unparse(node.target) for node in options.body if isinstance(node, ast.AnnAssign)}
    assert names == {*signature(matrix_field).parameters} - {
        *("element_shape", "dtype", "shape", "unknown")
    }


def test_there_are_programs() -> None:
    names = [name for name, _ in programs()]
    assert len(names) > 16 and "README.py" in names


def test_mypy(folder: Path) -> None:
    mistakes = mistakes_by_mypy(folder)
    assert not [mistake for mistake in mistakes if mistake[0] != "wrong.py"]
    assert {(line, kind) for file, line, kind in mistakes if file == "wrong.py"} == expected()


def test_pyright(folder: Path) -> None:
    command = shutil.which("pyright", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if command is None:
        pytest.skip("pyright is not installed")
    mistakes = mistakes_by_pyright(command, folder)
    assert not [mistake for mistake in mistakes if mistake[0] != "wrong.py"]
    lines = {line for file, line, _ in mistakes if file == "wrong.py"}
    assert lines == {line for line, _ in expected()}


@pytest.mark.parametrize("program", RIGHT)
def test_typed_programs_run(program: str) -> None:
    runpy.run_path(str(HERE / program))
