"""Make a failing program small: drop statements, take bodies for blocks and operands for
expressions while it still fails alike."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Edit = Callable[[], None]


def shrunk(source: str, fails: Callable[[str], bool]) -> str:
    """The smallest program that was found."""
    tree = ast.parse(source)
    position = 0
    while True:
        candidate = copy.deepcopy(tree)
        edits = list(_edits(candidate))
        if position >= len(edits):
            smaller = ast.unparse(tree)
            return smaller if fails(smaller) else source
        edits[position]()
        if fails(ast.unparse(ast.fix_missing_locations(candidate))):
            tree = candidate
        else:
            position += 1


def _edits(tree: ast.Module) -> Iterator[Edit]:
    """Everything that may be tried, the largest pieces first."""
    blocks = [
        (node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list) and getattr(node, name)
    ]
    for node, name in blocks:
        if name == "orelse" or not isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            yield lambda node=node, name=name: setattr(
                node, name, [] if name == "orelse" else [ast.Pass()]
            )  # type: ignore[misc]
        statements = getattr(node, name)
        for k in reversed(range(len(statements))):
            yield from _of_statement(statements, k)
    for node in ast.walk(tree):
        yield from _of_expressions(node)


def _is_option(statement: ast.stmt) -> bool:
    return "loop_config" in ast.unparse(statement) and isinstance(statement, ast.Expr)


def _of_statement(statements: list[ast.stmt], k: int) -> Iterator[Edit]:
    statement = statements[k]
    if isinstance(statement, ast.Pass | ast.Import) or _is_option(statement):
        return
    first = k - 1 if k and _is_option(statements[k - 1]) else k

    def remove() -> None:
        statements[first : k + 1] = [] if len(statements) > k + 1 - first else [ast.Pass()]

    def unwrap() -> None:
        statements[first : k + 1] = statement.body  # type: ignore[attr-defined]

    yield remove
    if isinstance(statement, ast.For | ast.If | ast.While):
        yield unwrap


def _of_expressions(node: ast.AST) -> Iterator[Edit]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.expr):
            for k, part in enumerate(value):
                for other in _parts(part):
                    yield lambda k=k, other=other, value=value: value.__setitem__(k, other)  # type: ignore[misc]
        elif isinstance(value, ast.expr) and not isinstance(node, ast.Subscript):
            for other in _parts(value):
                yield lambda name=name, other=other: setattr(node, name, other)  # type: ignore[misc]
        elif isinstance(value, ast.List) and name == "value":
            for k in range(len(value.elts)):
                yield lambda k=k, value=value: value.elts.__delitem__(k)  # type: ignore[misc]


def _parts(expression: ast.expr) -> list[ast.expr]:
    """What may stand in the place of an expression."""
    if isinstance(expression, ast.BinOp):
        return [expression.left, expression.right]
    if isinstance(expression, ast.IfExp):
        return [expression.body, expression.orelse]
    if isinstance(expression, ast.UnaryOp):
        return [expression.operand]
    if isinstance(expression, ast.BoolOp):
        return expression.values
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        name = expression.func.attr
        if name in ("sin", "cos", "tanh", "exp", "sqrt", "abs", "max", "atan2", "select"):
            return expression.args[name == "select" :]
        if name == "checkpointed":
            return expression.args[:1]
    return []
