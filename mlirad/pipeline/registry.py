"""The registry is the file system: `passes/GROUP/verb_noun.py` is the pass `verb-noun`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import mlirad.passes
from mlirad.ir.requirements import Requirement
from mlirad.loading import importing

PassFunction = Callable[..., None]


@cache
def _modules() -> dict[str, str]:
    """The module of every pass of ours, by the name of the pass, in alphabetical order."""
    files = sorted(Path(mlirad.passes.__file__).parent.glob("*/*.py"), key=lambda path: path.stem)
    return {
        path.stem.replace("_", "-"): f"mlirad.passes.{path.parent.name}.{path.stem}"
        for path in files
        if not path.stem.startswith("_")
    }


def pass_names() -> tuple[str, ...]:
    """Every pass of ours, as its name is written in a pipeline."""
    return tuple(_modules())


@cache
def find_pass(name: str) -> PassFunction:
    """The function of a pass. Raises KeyError for a name that is not ours."""
    with importing():
        module = import_module(_modules()[name])
    function: PassFunction = getattr(module, name.replace("-", "_"))
    return function


def requirements_of(name: str) -> tuple[Requirement, ...]:
    """What a pass of ours needs of the program."""
    function = find_pass(name)
    found: tuple[Requirement, ...] = getattr(sys.modules[function.__module__], "REQUIRES", ())
    return found


@cache
def runs_on_modules_only(function: PassFunction) -> bool:
    """Whether a pass needs the whole module: what it takes is named so."""
    return next(iter(inspect.signature(function).parameters)) == "module"


def summary(function: Callable[..., object]) -> str:
    """One sentence on what a pass or a pipeline does."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
