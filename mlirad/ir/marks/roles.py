"""What the parameters of a function that was raised to arrays stand for: see
`raise-memrefs-to-arrays`."""

from __future__ import annotations

from enum import StrEnum

ROLE, EXTENTS = "field.role", "field.extents"


class Role(StrEnum):
    """An argument or a result of the function, memory that it allocates, or a constant."""

    ARGUMENT = "argument"
    RESULT = "result"
    BUFFER = "buffer"
    CONSTANT = "constant"
