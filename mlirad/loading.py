"""Loading mlirad: the first module of ours to be read.

What is imported stays: to look through it for garbage, again and again as it grows, would take a
fifth of the time.
"""

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from os.path import dirname
from time import time_ns
from typing import Any

BEGAN, FOLDER = time_ns(), dirname(__file__)
_SELDOM = 100_000  # objects more between two looks at the youngest


@contextmanager
def importing() -> Iterator[None]:
    """Look for garbage seldom while modules are imported, and never among what they left."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(_SELDOM, before[0]), *before[1:])
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()  # all objects are old now
            gc.unfreeze()
        gc.set_threshold(*before)


def later(package: str, places: Mapping[str, str], name: str) -> Any:
    """A name of a package that is loaded when it is first asked for: a module of the package, or
    what one has. Raises AttributeError for one that is in none of its `places`."""
    if name not in places:
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    with importing():
        module = import_module(f"{package}.{places[name]}")
    found = module if name == places[name] else getattr(module, name)
    setattr(sys.modules[package], name, found)
    return found


ALL = importing()  # of the package's own imports
ALL.__enter__()
