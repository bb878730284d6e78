"""Loading mlirad: the first module of ours to be read."""

import sys
from collections.abc import Mapping
from importlib import import_module
from os.path import dirname
from time import time_ns
from types import ModuleType
from typing import Any

BEGAN, FOLDER = time_ns(), dirname(__file__)


def later(package: str, places: Mapping[str, str], name: str) -> Any:
    """A name of a package that is loaded when it is first asked for: a module of the package, or
    what one has. Raises AttributeError for one that is in none of its `places`."""
    if name not in places:
        from difflib import get_close_matches  # rarely needed

        close = get_close_matches(name, dir(sys.modules[package]), n=1, cutoff=0.7)
        hint = f": did you mean '{close[0]}'?" if close else ""
        raise AttributeError(f"module '{package}' has no attribute '{name}'{hint}", name=name)
    module = import_module(f"{package}.{places[name]}")
    value = module if name == places[name] else getattr(module, name)
    setattr(sys.modules[package], name, value)
    return value


def public_names(namespace: dict[str, Any]) -> list[str]:
    """Return the names of a module that programs use: all but modules and those that begin with an
    underscore."""
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    )
