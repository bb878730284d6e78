"""Make a failing program small: drop modes and statements, take bodies for blocks, numbers and
operands for expressions, while it still fails alike."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Edit = Callable[[], None]


def shrunk(source: str, fails: Callable[[str], bool]) -> str:
    """The smallest program that was found."""
    tree, tried, position = ast.parse(source), {source}, 0
    while True:
        candidate = copy.deepcopy(tree)
        edits = list(_edits(candidate))
        if position >= len(edits):
            return ast.unparse(tree)
        edits[position]()
        text = ast.unparse(ast.fix_missing_locations(candidate))
        if text not in tried and fails(text):
            tree = candidate
        else:
            position += 1
        tried.add(text)


def _edits(tree: ast.Module) -> Iterator[Edit]:
    """Everything that may be tried, the largest pieces first."""
    yield from _of_modes(tree)
    for node in reversed(list(ast.walk(tree))):
        if isinstance(node, ast.FunctionDef):
            yield from _of_block(node.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.For | ast.While | ast.If):
            yield from _of_block(node.body)
        if isinstance(node, ast.If) and node.orelse:
            yield from _of_block(node.orelse)
    for node in ast.walk(tree):
        yield from _of_expressions(node)


def _of_modes(tree: ast.Module) -> Iterator[Edit]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List):
            modes = statement.value.elts
            for k in range(len(modes) if len(modes) > 1 else 0):
                yield lambda k=k, modes=modes: modes.__delitem__(k)  # type: ignore[misc]


def _is_option(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and "loop_config" in ast.unparse(statement)


def _of_block(statements: list[ast.stmt]) -> Iterator[Edit]:
    for k in reversed(range(len(statements))):
        statement = statements[k]
        if isinstance(statement, ast.Pass | ast.Import) or _is_option(statement):
            continue
        first = k - 1 if k and _is_option(statements[k - 1]) else k
        yield lambda first=first, k=k: _replace(statements, first, k, [])  # type: ignore[misc]
        if isinstance(statement, ast.For | ast.If | ast.While):
            inner = statement.body
            yield lambda first=first, k=k, inner=inner: _replace(statements, first, k, inner)  # type: ignore[misc]
        if isinstance(statement, ast.If) and statement.orelse:
            yield lambda statement=statement: setattr(statement, "orelse", [])  # type: ignore[misc]


def _replace(statements: list[ast.stmt], first: int, last: int, new: list[ast.stmt]) -> None:
    statements[first : last + 1] = new
    if not statements:
        statements.append(ast.Pass())


def _of_expressions(node: ast.AST) -> Iterator[Edit]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.expr):
            for k, part in enumerate(value):
                for other in _parts(part):
                    yield lambda k=k, other=other, value=value: value.__setitem__(k, other)  # type: ignore[misc]
        elif isinstance(value, ast.expr) and not isinstance(node, ast.Subscript):
            for other in _parts(value):
                yield lambda name=name, other=other: setattr(node, name, other)  # type: ignore[misc]


def _parts(expression: ast.expr) -> list[ast.expr]:
    """What may stand in the place of an expression."""
    if isinstance(expression, ast.BinOp):
        return [ast.Constant(0.37), expression.left, expression.right]
    if isinstance(expression, ast.IfExp):
        return [expression.body, expression.orelse]
    if isinstance(expression, ast.UnaryOp):
        return [expression.operand]
    if isinstance(expression, ast.BoolOp):
        return expression.values
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        name = expression.func.attr
        if name in ("sin", "cos", "tanh", "exp", "sqrt", "abs", "max", "atan2", "select"):
            return [ast.Constant(0.37), *expression.args[name == "select" :]]
        if name == "checkpointed":
            return expression.args[:1]
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        return expression.args[:2] if expression.func.id == "pick" else []
    return []
