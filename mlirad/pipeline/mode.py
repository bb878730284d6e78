"""Modes, what code of a kernel computes: one of these is the key of each compiled code."""

from __future__ import annotations

from enum import Enum
from functools import cache

import msgspec


class Kind(Enum):
    """The purpose of a launch."""

    PRIMAL = "primal"
    REVERSE = "reverse"
    COLLISIONS = "collisions"  # runs before a derivative, and refuses iterations that meet


class Check(Enum):
    """A check at which a launch stops."""

    ACCESS = "validation"  # a write that breaks Taichi's rule for accesses
    FINITE = "anomaly"  # a NaN or an infinity that is written


class Mode(msgspec.Struct, frozen=True, cache_hash=True):
    """Primal, reverse, or a check; with tangents, which `constant` code sets to zero. A primal that
    `clears` sets derivatives of what it deactivates to zero: nothing else does. A reverse that
    `loads_stored` takes values from where the launch has stored them."""

    kind: Kind = Kind.PRIMAL
    tangents: int = 0
    is_constant: bool = False
    checks: frozenset[Check] = frozenset()
    clears: bool = False
    loads_stored: bool = False

    @property
    def is_reverse(self) -> bool:
        """Return whether adjoints flow."""
        return self.kind is Kind.REVERSE

    @property
    def is_check(self) -> bool:
        """Return whether this computes nothing."""
        return self.kind is Kind.COLLISIONS

    @property
    def collisions(self) -> Mode:
        """The check that may have to run before."""
        return COLLISIONS if self.is_reverse else TANGENT_COLLISIONS

    @property
    def suffix(self) -> str:
        """Return what follows the name of a kernel in tables and debuggers."""
        return "" if self in (PRIMAL, CLEARING) else f".{self}"

    def __str__(self) -> str:
        return _NAMES.get(self) or "-".join(
            [
                f"{'constant' if self.is_constant else 'forward'}{_count(self.tangents)}",
                *(["reverse"] if self.is_reverse else []),
            ]
        )


PRIMAL, REVERSE = Mode(), Mode(Kind.REVERSE)
CLEARING = Mode(clears=True)
COLLISIONS, TANGENT_COLLISIONS = Mode(Kind.COLLISIONS), Mode(Kind.COLLISIONS, tangents=1)
VALIDATION = Mode(checks=frozenset({Check.ACCESS}))
ANOMALY = Mode(checks=frozenset({Check.FINITE}))
VALIDATION_ANOMALY = Mode(checks=frozenset({Check.ACCESS, Check.FINITE}))
ANOMALY_REVERSE = Mode(Kind.REVERSE, checks=frozenset({Check.FINITE}))
STORED_REVERSE = Mode(Kind.REVERSE, loads_stored=True)

_NAMED = {
    "primal": PRIMAL,
    "reverse": REVERSE,
    "clearing": CLEARING,
    "validation": VALIDATION,
    "anomaly": ANOMALY,
    "validation-anomaly": VALIDATION_ANOMALY,
    "anomaly-reverse": ANOMALY_REVERSE,
    "stored-reverse": STORED_REVERSE,
    "collisions": COLLISIONS,
    "collisions-tangents": TANGENT_COLLISIONS,
}
_NAMES = {mode: name for name, mode in _NAMED.items()}


@cache
def with_tangents(count: int, *, is_reverse: bool = False, is_constant: bool = False) -> Mode:
    """The mode that computes so many tangents too."""
    return Mode(Kind.REVERSE if is_reverse else Kind.PRIMAL, count, is_constant)


def parse_mode(text: str) -> Mode:
    """The mode that a text names, as `str` writes it: one of the names, or "forward3",
    "constant3-reverse" ... Raises ValueError for any other."""
    mode = _NAMED.get(text)
    if mode is not None:
        return mode
    word, dash, _ = text.partition("-")
    for name in ("forward", "constant"):
        digits = word.removeprefix(name)
        count = int(digits) if digits.isdecimal() else 1
        mode = with_tangents(count, is_reverse=bool(dash), is_constant=name == "constant")
        if count and str(mode) == text:
            return mode
    raise ValueError(f"unknown mode '{text}', expected one of {', '.join(_NAMED)}")


def _count(tangents: int) -> str:
    return str(tangents) if tangents > 1 else ""
