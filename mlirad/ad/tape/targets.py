"""Fields and arrays that a caller names: one, or a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def listed(given: object) -> tuple[list[Any], bool]:
    """What was given as a list, and whether it was one."""
    if isinstance(given, list | tuple):
        return list(given), True
    return [given], False


def has_twice(targets: Sequence[Any]) -> bool:
    """Whether something is named twice."""
    return len({id(target) for target in targets}) < len(targets)
