"""What documents say: programs print what stands behind their `print`, and names are names of
something."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from inspect import getdoc, getsource, isfunction, signature, unwrap
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
import test_structure

import mlirad as ti
from mlirad import te
from mlirad.passes.loops import split_parallel_loops
from mlirad.passes.loops.split_parallel_loops import chunk
from mlirad.passes.memory import lower_grad_to_memref
from mlirad.passes.rounding.mark_rounding import loop_sums
from mlirad.passes.rounding.split_sums import sums_in_lanes
from mlirad.pipeline.registry import pass_names

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS = [*FRONT, *sorted(DOCS.rglob("*.md"))]
PLACES = (ROOT, ROOT / "mlirad", ROOT / "mlirad" / "passes", DOCS)
VERBS = "check|differentiate|expand|hoist|inline|insert|keep|lower|mark|merge|sink|split"
UPSTREAM = {"lower-affine", "expand-strided-metadata"}
STAND_INS = {"verb_noun", "verb-noun", "field_noun", "lower_field_noun"}  # of CONTRIBUTING.md


@pytest.mark.parametrize(
    ("document", "prints"),
    [
        ("transforms", 17),
        ("forward-mode", 5),
        ("structs", 4),
        ("type-checkers", 1),
        ("tensor-expressions", 0),
        ("names names-tensors", 0),  # in one process, which starts once
        pytest.param(
            "distributed",
            1,
            marks=pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py"),
        ),
    ],
)
def test_the_programs_of(document: str, prints: int, tmp_path: Path) -> None:
    texts = [(DOCS / f"{name}.md").read_text() for name in document.split()]
    program = "\n".join(re.findall(r"```python\n(.*?)```", "\n".join(texts), re.DOTALL))
    file = tmp_path / "program.py"
    file.write_text(program)
    blind = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=blind
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^print\(.*  # (.*)$", program, re.MULTILINE)
    assert len(said) >= prints
    printed = [line for line in done.stdout.splitlines() if not line.startswith("ti.ad.check: ")]
    assert [_words(line) for line in printed] == [_words(line) for line in said]


def _words(line: str) -> list[str]:
    """What is printed, however NumPy pads its columns."""
    return re.sub(r"([\[\]])", r" \1 ", line).split()


def spans(document: Path) -> list[str]:
    """What stands between backticks in the prose of a document."""
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    return re.findall(r"`([^`\n]+)`", prose)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(document: Path) -> None:
    """Links lead somewhere, and what looks like the path of a file is one."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", document.read_text())
    lost = [link for link in links if not (document.parent / link).exists()]
    names = {path.name for path in (ROOT / "mlirad").rglob("*.py")}
    for span in spans(document):
        path = re.fullmatch(r"([\w.]+/)*[\w.]+\.(py|md|mlir|toml|cu)|([\w.]+/)+", span)
        if path is None or any(word in span for word in STAND_INS):
            continue
        if "/" not in span.rstrip("/") and span in names:
            continue
        if span.endswith("/") and any((ROOT / "mlirad").rglob(span.rstrip("/"))):
            continue
        if not any((place / span).exists() for place in PLACES):
            lost.append(span)
    assert not lost


def anchors(document: Path) -> set[str]:
    """What links to headings of a document end with."""
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_headings_lead_to_one(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", document.read_text())
    targets = [(document.parent / file if file else document, anchor) for file, anchor in links]
    assert not [(file.name, anchor) for file, anchor in targets if anchor not in anchors(file)]


def test_links_of_notebooks_lead_somewhere() -> None:
    """Pages that are made for the reference are looked at where that is built."""
    for file in sorted(DOCS.glob("notebooks/*.ipynb")):
        cells = json.loads(file.read_text())["cells"]
        text = "".join(line for cell in cells for line in cell["source"])
        links = re.findall(r"\]\((?!https?:)([^)#\s]+)\)", text)
        lost = [link for link in links if not (file.parent / link).exists()]
        assert not [link for link in lost if "/reference/" not in link]


def examples() -> list[tuple[list[str], str, bool]]:
    """The names that programs are for, the programs, and whether the tests run them."""
    found = [
        (names.split(), program, not norun)
        for document in sorted(DOCS.glob("names*.md"))
        for norun, names, program in re.findall(
            r"```python( norun)?\n# ((?:ti|te|dist|ensemble)\.[^\n]*)\n(.*?)```",
            document.read_text(),
            re.DOTALL,
        )
    ]
    assert len(found) > 100
    return found


def test_names_by_example_are_used() -> None:
    for names, program, is_run in examples():
        assert "assert " in program or not is_run
        for name in names:
            used = [name, name.replace("te.nn.", "nn."), name.rpartition(".")[2]]
            assert any(re.search(rf"\b{re.escape(one)}\b", program) for one in used), name


def test_every_public_name_has_an_example() -> None:
    """Those of modules that need MPI or Ray are read from their sources."""
    public = {
        f"{space}.{name}"
        for space, module in {
            "ti": ti,
            "te": te,
            "te.nn": te.nn,
            **{f"ti.{name}": getattr(ti, name) for name in ti.__all__},
        }.items()
        if isinstance(module, ModuleType)
        for name in module.__all__
        if callable(getattr(module, name)) or name == "root"
    }
    for space, folder in (("dist", "distributed"), ("ensemble", "ensemble")):
        source = (ROOT / "mlirad" / folder / "__init__.py").read_text()
        listed = re.findall(r"__all__ = \[(.*?)\]", source, re.DOTALL)[0]
        public |= {f"{space}.{name}" for name in re.findall(r'"(\w+)"', listed)}
    shown = {name for names, _, _ in examples() for name in names}
    assert len(public) > 400
    assert sorted(public - shown) == [], "add a program to docs/names*.md"
    assert sorted(shown - public) == [], "no such names"


def test_errors_are_documented() -> None:
    """Names of errors that public functions and methods raise themselves stand in their docstrings,
    or in that of the class, or of one that it is made from."""
    silent, seen = [], 0
    for space, name, value in public_names():
        classes = value.__mro__ if isinstance(value, type) else ()
        for function in methods_of(classes) if classes else [written(value)]:
            seen += 1
            said = " ".join(one.__doc__ or "" for one in (*classes, function, value))
            lost = raised_by(function) - {*re.findall(r"\w+", said)}
            silent += [f"{space}.{name}: {function.__name__} raises {one}" for one in lost]
    assert seen > 500
    assert not silent, "\n".join(silent)


def test_documented_arguments_are_parameters() -> None:
    """An entry of `Args` names a parameter, or an option where a function takes any."""
    wrong, seen = [], 0
    for space, name, value in public_names():
        section = re.search(r"^Args:\n((?:    .*(?:\n|$))+)", getdoc(value) or "", re.MULTILINE)
        entries = re.findall(r"^    (\w+):", section[1], re.MULTILINE) if section else []
        parameters = {**signature(value).parameters} if entries else {}
        seen += len(entries)
        if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            wrong += [f"{space}.{name}: {entry}" for entry in entries if entry not in parameters]
    assert seen > 100
    assert not wrong, "\n".join(wrong)


def written(value: Any) -> Any:
    """The function behind what is called in kernels, or on tensors."""
    return getattr(value, "translate", getattr(value, "function", value))


def methods_of(classes: tuple[type, ...]) -> list[Any]:
    """The public methods of classes of ours, and how they are made."""
    return [
        value
        for one in classes
        if one.__module__.startswith("mlirad")
        for name, value in vars(one).items()
        if isfunction(value) and (name == "__init__" or not name.startswith("_"))
    ]


def raised_by(function: Callable[..., object]) -> set[str]:
    """The errors that a function raises by name."""
    try:
        tree = ast.parse(dedent(getsource(unwrap(function))))
    except (TypeError, OSError):  # what is not written in Python
        return set()
    calls = [one.exc for one in ast.walk(tree) if isinstance(one, ast.Raise)]
    names = [one.func.id for one in calls if isinstance(one, ast.Call) and hasattr(one.func, "id")]
    return {*names}


def public_names() -> Iterator[tuple[str, str, Any]]:
    """Functions and classes of ours, by where programs find them."""
    spaces = {f"ti.{name}": getattr(ti, name) for name in ti.__all__}
    for space, module in {"ti": ti, "te": te, "te.nn": te.nn, **spaces}.items():
        for name in module.__all__ if isinstance(module, ModuleType) else ():
            value = getattr(module, name)
            place = getattr(value, "__module__", None) or ""
            if callable(value) and not isinstance(value, ModuleType) and "mlirad" in place:
                yield space, name, value


def test_every_namespace_has_a_page_of_the_reference() -> None:
    """That the pages are there is looked at where they are built."""
    listed = re.findall(r"reference/([\w.]+)\.md", (ROOT / "mkdocs.yml").read_text())
    names = [name for name in ti.__all__ if isinstance(getattr(ti, name), ModuleType)]
    assert len(names) > 5
    assert {"ti", "te", "te.nn", "dist", "ensemble", *(f"ti.{name}" for name in names)} <= {*listed}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_passes_that_are_named_exist(document: Path) -> None:
    """What looks like a pass of ours is one."""
    found = {span for span in spans(document) if re.fullmatch(rf"(?:{VERBS})(?:-[a-z]+)+", span)}
    assert not found - {*pass_names(), *UPSTREAM, *STAND_INS}


def test_code_names_documents_that_exist() -> None:
    """Comments and docstrings send readers to documents of this repository."""
    named = {
        (path.name, name)
        for folder in ("mlirad", "test", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"(?:docs/)?[\w-]+\.md\b", path.read_text())
    }
    assert not {(path, name) for path, name in named if not (ROOT / name).exists()}


WORTH = signature(split_parallel_loops.split_parallel_loops).parameters["worth"].default
NUMBERS = (
    ("inside/stages", r"on the stack up to ([\d,]+) slots", lower_grad_to_memref.ON_STACK),
    ("inside/parallel-loops", r"summed in blocks of ([\d,]+)", chunk.BLOCK),
    ("inside/stages", r"in blocks of ([\d,]+) iterations", chunk.BLOCK),
    ("inside/parallel-loops", r"known to have fewer than ([\d,]+) operations", WORTH),
    ("architecture", r"limits functions to ([\d,]+) lines", test_structure.LONGEST_FUNCTION),
    ("architecture", r"classes to ([\d,]+) lines", test_structure.LONGEST_CLASS),
    ("gradients", r"sum over a loop of more than ([\d,]+) trips", loop_sums._SHORT_LANES),
    ("gradients", r"computed in ([\d,]+)\s+lanes", sums_in_lanes._WIDTH),
    ("gradients", r"Sums over a loop of more than ([\d,]+) trips", loop_sums._SHORT),
)


@pytest.mark.parametrize(("document", "sentence", "number"), NUMBERS)
def test_numbers_agree_with_the_code(document: str, sentence: str, number: int) -> None:
    """What a document says of a limit is the limit."""
    said = re.findall(sentence.replace(" ", r"\s+"), (DOCS / f"{document}.md").read_text())
    assert [int(one.replace(",", "")) for one in said] == [number]
