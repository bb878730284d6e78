"""The registry is the file system: `passes/verb_noun.py` is the pass `verb-noun`."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import mlirad.passes

PassFunction = Callable[..., None]


class PipelineError(ValueError):
    """A pipeline that cannot be run: malformed text, an unknown pass, a wrong option."""


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


def summary(function: Callable[..., Any]) -> str:
    """One line on what a pass or a pipeline does."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


def options_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The options of a pass or a pipeline with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def parse_options(function: Callable[..., Any], name: str, text: str) -> dict[str, Any]:
    """`a=1 b=x` as keyword arguments, typed like the defaults. Raises PipelineError for what is not an option."""
    defaults = options_of(function)
    values: dict[str, Any] = {}
    for item in text.split():
        key, _, value = item.partition("=")
        key = key.replace("-", "_")
        if key not in defaults:
            known = ", ".join(defaults) or "none"
            raise PipelineError(f"'{name}' has no option '{key}' (options: {known})")
        values[key] = _typed(value, type(defaults[key]), f"option '{key}' of '{name}'")
    return values


def _typed(value: str, kind: type, what: str) -> Any:
    if kind is bool:
        if value not in ("true", "false", ""):
            raise PipelineError(f"{what} is true or false, not '{value}'")
        return value != "false"
    try:
        return kind(value)
    except ValueError:
        raise PipelineError(f"{what} has values of type {kind.__name__}, not '{value}'") from None
