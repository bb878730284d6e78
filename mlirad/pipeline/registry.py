"""The registry is the file system: `passes/verb_noun.py` is the pass `verb-noun`."""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import mlirad.passes
from mlirad.ir.requirements import Requirement

PassFunction = Callable[..., None]


@cache
def pass_names() -> tuple[str, ...]:
    """Every pass of ours, as its name is written in a pipeline."""
    folder = Path(mlirad.passes.__file__).parent
    return tuple(sorted(p.stem.replace("_", "-") for p in folder.glob("*.py") if not p.stem.startswith("_")))


@cache
def find_pass(name: str) -> PassFunction:
    """The function of a pass. Raises KeyError for a name that is not ours."""
    if name not in pass_names():
        raise KeyError(name)
    stem = name.replace("-", "_")
    function: PassFunction = getattr(import_module(f"mlirad.passes.{stem}"), stem)
    return function


def requirements_of(name: str) -> tuple[Requirement, ...]:
    """What a pass of ours needs of the program."""
    function = find_pass(name)
    found: tuple[Requirement, ...] = getattr(sys.modules[function.__module__], "REQUIRES", ())
    return found


def runs_on_modules_only(function: PassFunction) -> bool:
    """Whether a pass needs the whole module: what it takes is named so."""
    return next(iter(inspect.signature(function).parameters)) == "module"


def summary(function: Callable[..., Any]) -> str:
    """One line on what a pass or a pipeline does."""
    return (inspect.getdoc(function) or "").partition("\n")[0]
