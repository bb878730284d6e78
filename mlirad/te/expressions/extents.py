"""Extents: integers, and expressions of sizes."""

from __future__ import annotations

from typing import Any

from mlirad.te.expressions.order import in_order
from mlirad.te.expressions.tree import Axis, Call, Expr, Extent, Number, Read, Size

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


def is_of_sizes(one: Expr) -> bool:
    """Whether an expression is made of integers that are known and of sizes alone."""
    return all(
        isinstance(part, Size | Number) or (bool(part.parts) and not isinstance(part, Read))
        for part in in_order(one, lambda part: part.parts)
    )


def shown_extent(extent: Extent) -> str:
    """An extent as a user writes it."""
    if not isinstance(extent, Expr):
        return str(extent)
    texts: dict[Expr, str] = {}
    for part in in_order(extent, lambda one: one.parts):
        texts[part] = _shown(part, [texts[inner] for inner in part.parts])
    return texts[extent]


def _shown(one: Expr, parts: list[str]) -> str:
    if isinstance(one, Number):
        return str(one.value)
    if isinstance(one, Size | Axis):
        return one.name
    name = one.name if isinstance(one, Call) else "?"
    return f"({f' {_SIGNS.get(name, name)} '.join(parts)})"


def same_extent(left: Extent, right: Extent) -> bool:
    """Whether two extents are written alike."""
    pending, seen = [(left, right)], set[tuple[Extent, Extent]]()
    while pending:
        pair = pending.pop()
        if pair in seen or pair[0] is pair[1]:
            continue
        seen.add(pair)
        if _head(pair[0]) != _head(pair[1]):
            return False
        if isinstance(pair[0], Expr) and isinstance(pair[1], Expr):
            pending += zip(pair[0].parts, pair[1].parts)
    return True


def _head(extent: Extent) -> Any:
    """What an extent is, but for its parts."""
    if isinstance(extent, Call | Size | Axis):
        return extent.name, len(extent.parts)
    return extent.value if isinstance(extent, Number) else extent
