"""Fields and arrays that a caller names: one, or a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def listed(given: Any) -> tuple[list[Any], bool]:
    """What was given as a list, and whether it was one."""
    several = isinstance(given, list | tuple)
    return (list(given) if several else [given]), several


def has_twice(targets: Sequence[Any]) -> bool:
    """Whether something is named twice."""
    return len({id(target) for target in targets}) < len(targets)
