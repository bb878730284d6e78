"""Programs written by tests, as modules, and what comes of many."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType


def load(source: str, folder: Path) -> ModuleType:
    """A module of some source; kernels are read from its file."""
    name = f"program_{abs(hash(source))}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def check_numbered(check: Callable[[int], str]) -> None:
    """Check as many programs as the command line asks for, from a number on, and print how many
    came out how."""
    first, count = (int(text) for text in sys.argv[1:3])
    outcomes = Counter(map(check, range(first, first + count)))
    print(f"{count} programs, {dict(outcomes)}")
