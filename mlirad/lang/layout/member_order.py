"""How the parts of an element lie in memory: `ti.Layout`."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    """How the components of a matrix field, or the members of a field of structs, lie: together, or
    each on its own."""

    AOS = 0
    SOA = 1
