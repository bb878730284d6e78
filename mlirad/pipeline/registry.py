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


def summary(name: str) -> str:
    """One line on what a pass does."""
    return (inspect.getdoc(find_pass(name)) or "").splitlines()[0]


def options_of(name: str) -> dict[str, Any]:
    """The options of a pass with their defaults."""
    parameters = inspect.signature(find_pass(name)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def parse_options(name: str, text: str) -> dict[str, Any]:
    """`a=1 b=x` as keyword arguments, typed like the defaults. Raises ValueError for what the pass does not take."""
    defaults = options_of(name)
    values: dict[str, Any] = {}
    for item in text.split():
        key, _, value = item.partition("=")
        key = key.replace("-", "_")
        if key not in defaults:
            known = ", ".join(defaults) or "none"
            raise ValueError(f"pass '{name}' has no option '{key}' (options: {known})")
        kind = type(defaults[key])
        if kind is bool:
            if value not in ("true", "false", ""):
                raise ValueError(f"option '{key}' of '{name}' is true or false, not '{value}'")
            values[key] = value != "false"
        else:
            try:
                values[key] = kind(value)
            except ValueError:
                raise ValueError(f"option '{key}' of '{name}' is a {kind.__name__}, not '{value}'") from None
    return values
