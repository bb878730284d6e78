"""The registry is the file system: `passes/GROUP/verb_noun.py`, or a folder of this name, is the
pass `verb-noun`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType

import mlirad.passes
from mlirad.ir.requirements import Requests, Requirement

# a pass that asks for pipelines yields its requests
PassFunction = Callable[..., Requests | None]


@cache
def _modules() -> dict[str, str]:
    """The module of every pass of ours, by the name of the pass, in alphabetical order."""
    return {
        stem.replace("_", "-"): f"mlirad.passes.{group}.{stem}" for stem, group in sorted(_files())
    }


def _files() -> Iterator[tuple[str, str]]:
    """The files and folders of passes, each with its group."""
    for folder in mlirad.passes.__path__:
        for group in os.scandir(folder):
            if group.is_dir() and not group.name.startswith("_"):
                for name in os.listdir(group):
                    stem = name.removesuffix(".py")
                    if not stem.startswith("_") and "." not in stem:
                        yield stem, group.name


def is_pass(name: str) -> bool:
    """Return whether a pass of ours has this name, as it is written in a pipeline."""
    return name in _modules()


def pass_names() -> tuple[str, ...]:
    """Every pass of ours, as its name is written in a pipeline."""
    return tuple(_modules())


@cache
def find_pass(name: str) -> PassFunction:
    """The function of a pass. Raises KeyError for a name that is not ours."""
    function: PassFunction = getattr(import_module(_modules()[name]), name.replace("-", "_"))
    return function


def requirements_of(name: str) -> tuple[Requirement, ...]:
    """Return what a pass of ours needs of the program."""
    module = sys.modules[find_pass(name).__module__]
    requirements: tuple[Requirement, ...] = getattr(module, "REQUIRES", ())
    return requirements


def only_marks(name: str) -> bool:
    """Return whether a pass of ours leaves ops as they are and changes only their attributes."""
    module = sys.modules[find_pass(name).__module__]
    return getattr(module, "ONLY_MARKS", False)


def looks_for(name: str) -> tuple[str, ...] | None:
    """Return the names of the ops without which a pass of ours does nothing; None if it says
    none."""
    table: dict[str, tuple[str, ...]] = getattr(_group_of(name), "LOOKS_FOR", {})
    return table.get(name)


def dialects_of(name: str) -> tuple[str, ...]:
    """Return the names of the dialects of which a pass of ours makes ops, beside those that each
    context has."""
    names: tuple[str, ...] = getattr(_group_of(name), "DIALECTS", ())
    return names


def _group_of(name: str) -> ModuleType:
    """The package that a pass of ours is in; the pass itself is not loaded."""
    return import_module(_modules()[name].rpartition(".")[0])


def runs_on_modules_only(function: PassFunction) -> bool:
    """Return whether a pass needs the whole module: what it takes is named so."""
    assert isinstance(function, FunctionType)
    return function.__code__.co_varnames[0] == "module"


def summary(function: Callable[..., object]) -> str:
    """One sentence on what a pass or a pipeline does."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())
