"""Argument packs inside a kernel: parameters whose names have dots, as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.frontend.python.places.triplets import Triplets, are_triplets
from mlirad.frontend.python.places.views import KernelView, is_view, view_of
from mlirad.frontend.python.translation.scopes import Frame


class Pack:
    """Arguments by name."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.__dict__.update(members)


def is_member(parameter: str) -> bool:
    """Return whether a parameter belongs to a pack, by its name."""
    return "." in parameter


def packs_of(names: Sequence[str], frame: Frame) -> dict[str, Pack | Triplets | KernelView]:
    """The packs that some parameters belong to, builders of sparse matrices, and views, by name."""
    trees: dict[str, Any] = {}
    for name in names:
        *path, last = name.split(".")
        members = trees
        for component in path:
            members = members.setdefault(component, {})
        if path:
            members[last] = frame.find_local(name)
    return {name: _pack(members) for name, members in trees.items()}


def _pack(members: dict[str, Any]) -> Pack | Triplets | KernelView:
    if are_triplets(members):
        return Triplets(members)
    if is_view(members):
        return view_of(members)
    return Pack({k: _pack(v) if isinstance(v, dict) else v for k, v in members.items()})
