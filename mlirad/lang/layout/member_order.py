"""Orders of the parts of an element in memory: `ti.Layout`."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    """The storage of the components of a matrix field, or of the members of a struct field:
    together (AOS), or each in its own array (SOA)."""

    AOS = 0
    SOA = 1
