"""The nodes of syntax trees, found faster than by `ast.walk`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_NOT_VISITED = ("ctx", "op")  # which hold no other nodes
_LEAVES = (ast.Name, ast.Constant)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in another, but for contexts and operators."""
    nodes: list[ast.AST] = []
    for name in () if isinstance(node, _LEAVES) else node._fields:
        child = getattr(node, name, None)
        if isinstance(child, list):
            nodes += [inner for inner in child if isinstance(inner, ast.AST)]
        elif isinstance(child, ast.AST) and name not in _NOT_VISITED:
            nodes.append(child)
    return nodes


def nodes_in(*roots: ast.AST) -> list[ast.AST]:
    """Some nodes and all that are in them, in no particular order."""
    nodes, pending = list[ast.AST](), list(roots)
    while pending:
        node = pending.pop()
        nodes.append(node)
        pending += children(node)
    return nodes


def statements_in(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield some statements and those in them, with the handlers and cases that hold these."""
    for statement in body:
        yield statement
        yield from statements_in(inner_statements(statement))


def inner_statements(statement: ast.AST) -> list[ast.AST]:
    """The statements directly in another, and the handlers and cases that hold some."""
    return [
        inner
        for name in ("body", "handlers", "orelse", "finalbody", "cases")
        for inner in getattr(statement, name, ())
    ]
