"""Extents: integers, and expressions of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.te.expressions.tree import Axis, Call, Expr, Extent, Number, Read, Size

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


def is_number(extent: Extent, number: int) -> bool:
    """Return whether an extent is a number that is known, and which: `==` of sizes is no test."""
    return isinstance(extent, int) and extent == number


def is_empty(shape: Sequence[Extent]) -> bool:
    """Return whether a tensor of a shape has no elements, whatever sizes are."""
    return any(is_number(extent, 0) for extent in shape)


def is_of_sizes(root: Expr) -> bool:
    """Return whether an expression is made of integers that are known and of sizes alone."""
    return all(
        isinstance(node, Size | Number) or (bool(node.operands) and not isinstance(node, Read))
        for node in root.nodes()
    )


def shown_extent(extent: Extent) -> str:
    """An extent as a user writes it."""
    if not isinstance(extent, Expr):
        return str(extent)
    texts: dict[Expr, str] = {}
    for node in extent.nodes():
        texts[node] = _shown_node(node, [texts[operand] for operand in node.operands])
    return texts[extent]


def _shown_node(node: Expr, operands: list[str]) -> str:
    if isinstance(node, Number):
        return str(node.value)
    if isinstance(node, Size | Axis):
        return node.name
    name = node.name if isinstance(node, Call) else "?"
    return f"({f' {_SIGNS.get(name, name)} '.join(operands)})"


def same_extent(left: Extent, right: Extent) -> bool:
    """Return whether two extents are written alike."""
    pending, visited = [(left, right)], set[tuple[Extent, Extent]]()
    while pending:
        pair = pending.pop()
        if pair in visited or pair[0] is pair[1]:
            continue
        visited.add(pair)
        if _head(pair[0]) != _head(pair[1]):
            return False
        if isinstance(pair[0], Expr) and isinstance(pair[1], Expr):
            pending += zip(pair[0].operands, pair[1].operands)
    return True


def _head(extent: Extent) -> Any:
    """Return an extent's own name or value, without its operands."""
    if isinstance(extent, Call | Size | Axis):
        return extent.name, len(extent.operands)
    return extent.value if isinstance(extent, Number) else extent
