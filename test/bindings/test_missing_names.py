"""MLIR bindings that are not there, or that lack what mlirad uses."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mlirad.bindings import PROVIDER
from mlirad.bindings.missing import SUPPORTED, explanation, missing_names

ROOT = Path(__file__).parents[2]
OTHERS = {  # files of bindings, and the end of the message
    "without operations": (
        {"ir.py": "class Context:\n    pass\n"},
        "the MLIR bindings 'torch_mlir' 20261001 lack 'ir.",
    ),
    "that do not load": (
        {"__init__.py": "raise ImportError('libmlir.so')", "ir.py": ""},
        f"mlirad needs MLIR's Python bindings: pip install {SUPPORTED}",
    ),
}


def test_the_bindings_have_all_that_the_stubs_list() -> None:
    """The wheels of CPython 3.11 and of the stable ABI are built separately."""
    assert [*missing_names(PROVIDER)] == []


def test_the_version_is_the_one_that_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert SUPPORTED in project["dependencies"]


@pytest.mark.parametrize("case", OTHERS)
def test_other_bindings_are_named(case: str, tmp_path: Path) -> None:
    files, message = OTHERS[case]
    folder = tmp_path / "torch_mlir"
    folder.mkdir()
    for name, text in {"__init__.py": "", **files}.items():
        (folder / name).write_text(text)
    paths = os.pathsep.join(map(str, (tmp_path, ROOT)))
    ended = subprocess.run(
        [sys.executable, "-c", "import mlirad"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"ImportError: {message}" in ended.stderr


def test_what_is_missing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlirad.bindings import ir

    monkeypatch.delattr(ir, "StridedLayoutAttr")
    assert "lack 'ir.StridedLayoutAttr': mlirad is tested with" in explanation(PROVIDER)
