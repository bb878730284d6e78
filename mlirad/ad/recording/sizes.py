"""Amounts of memory as a program gives them: bytes, a text, a part of what would be kept."""

from __future__ import annotations

import re
from math import inf, isfinite

from mlirad.errors import TaichiTypeError

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def bytes_of(memory: object, who: str) -> int:
    """The bytes of a number, or of a text like "512MB". Raises TaichiTypeError for anything
    else."""
    if isinstance(memory, int) and not isinstance(memory, bool) and memory >= 0:
        return memory
    match = _SIZE.fullmatch(memory) if isinstance(memory, str) else None
    unit = _UNITS.get(match.group(2).upper()) if match is not None else None
    amount = float(match.group(1)) * unit if match is not None and unit is not None else inf
    if not isfinite(amount):
        raise TaichiTypeError(
            f"{who}: expected memory= as a number of bytes or a string like '512MB', got {memory!r}"
        )
    return int(amount)


def kept_within(memory: object, rules: str) -> int | float | None:
    """Return what a tape may keep: bytes, or a part below 1.0 of what would be kept; None for all.
    With rules="refuse" nothing is kept anyway. Raises TaichiTypeError for anything else."""
    if memory is None:
        return None
    who = "ti.ad.Tape()"
    limit = memory if isinstance(memory, float) else bytes_of(memory, who)
    if isinstance(limit, float) and not (isfinite(limit) and 0.0 < limit <= 1.0):
        raise TaichiTypeError(
            f"{who}: expected memory= as a number of bytes, a string like '512MB', or a fraction "
            f"between 0.0 and 1.0 of what would be kept, got {memory!r}"
        )
    return None if rules == "refuse" or (isinstance(limit, float) and limit == 1.0) else limit
