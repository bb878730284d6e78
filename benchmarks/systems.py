"""The systems that are compared: a name, which is also the module's, and the interpreter that has
it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

OURS, PEERS = "mlirad", ("taichi", "quadrants")
_VERSION = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


@dataclass(frozen=True)
class System:
    """A module with Taichi's names."""

    name: str
    python: str

    def version(self) -> str:
        """The installed version, or nothing where it is run from a checkout."""
        done = subprocess.run(
            [self.python, "-c", _VERSION, self.name], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()


def find_systems(given: Sequence[str], peers: Sequence[str] = PEERS) -> list[System]:
    """mlirad, the systems given as NAME=PYTHON, and those of the peers that this interpreter has.

    Raises ValueError for anything else than NAME=PYTHON.
    """
    found = {OURS: System(OURS, sys.executable)}
    for name in peers:
        if importlib.util.find_spec(name) is not None:
            found[name] = System(name, sys.executable)
    for item in given:
        name, equals, python = item.partition("=")
        if not equals or not python:
            raise ValueError(f"a system is given as NAME=PYTHON, not '{item}'")
        found[name] = System(name, python)
    return list(found.values())
