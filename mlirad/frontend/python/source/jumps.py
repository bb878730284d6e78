"""Statements that leave a block early, from the syntax: `break`, `continue` and `return`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlirad.frontend.python.source.nodes import inner_statements, statements_in


def _holds_jump(node: ast.AST, kinds: tuple[type[ast.stmt], ...], in_loop: bool = False) -> bool:
    """Return whether a node holds a `return`, or a jump of some kinds that is not of a loop in
    it."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, kinds):
        return not in_loop
    inside = in_loop or isinstance(node, ast.For | ast.While)
    return any(_holds_jump(child, kinds, inside) for child in inner_statements(node))


def may_leave(statement: ast.stmt) -> bool:
    """Return whether a statement holds a `break`, `continue` or `return` that could skip the
    statements behind it."""
    return _holds_jump(statement, (ast.Break, ast.Continue))


def leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Return whether a loop body can end the loop early."""
    return any(_holds_jump(statement, (ast.Break,)) for statement in body)


def has_jump(body: Sequence[ast.stmt]) -> bool:
    """Return whether a loop body has a `break`, `continue` or `return` of its own."""
    return any(may_leave(statement) for statement in body)


def has_return(body: Sequence[ast.stmt]) -> bool:
    """Return whether some statements hold a `return`."""
    return any(isinstance(statement, ast.Return) for statement in statements_in(body))


def returns_early(body: Sequence[ast.stmt]) -> bool:
    """Return whether some `return` is not the function's last statement."""
    returns = [inner for inner in statements_in(body) if isinstance(inner, ast.Return)]
    return any(r is not body[-1] for r in returns) and not _only_static(body)


def is_static(node: ast.expr) -> bool:
    """Return whether an expression is `ti.static(...)`, by its name."""
    return isinstance(node, ast.Call) and "static" in (
        getattr(node.func, "attr", ""),
        getattr(node.func, "id", ""),
    )


def _only_static(body: Sequence[ast.stmt]) -> bool:
    """Return whether every `return` stands under `if ti.static(...)` only, so that one is chosen
    while compiling."""

    def holds(statements: Sequence[ast.stmt]) -> bool:
        for statement in statements:
            if isinstance(statement, ast.If):
                inner = statement.body + statement.orelse
                if has_return(inner) and not (
                    is_static(statement.test) and holds(statement.body) and holds(statement.orelse)
                ):
                    return False
            elif not isinstance(statement, ast.Return) and has_return([statement]):
                return False
        return True

    return holds(body)
