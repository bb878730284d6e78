"""`ti.simt`: the name of a machine, and what its threads do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES = ("block", "grid", "subgroup", "warp")


class Threads(str):
    """The name of a machine that has the modules of `ti.simt`: `ti.init(arch=ti.simt)`,
    `ti.simt.block.sync()`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"ti.simt has no '{name}', it has {', '.join(PLACES)}")
        module = import_module(f"mlirad.lang.simt.{name}")
        if name == "block":
            import_module("mlirad.lang.simt.ranks")  # a function of it, made of the others
        return module
