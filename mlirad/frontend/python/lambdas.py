"""Lambdas as functions: found in the text around them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from typing import Any

from mlirad.errors import TaichiSyntaxError


def definition_of(function: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
    """A lambda as a function that returns its expression, with its places in its file. Raises
    TaichiSyntaxError where the text around it is not known, or fits several."""
    code = function.__code__
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        tree = ast.Module([], [])
    on_line = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
    ]
    places = {(line, column) for line, _, column, _ in code.co_positions()}
    found = [node for node in on_line if (node.body.lineno, node.body.col_offset) in places]
    if len(found if len(on_line) > 1 else on_line) != 1:
        raise TaichiSyntaxError(
            f"the text of the lambda in line {code.co_firstlineno} of '{code.co_filename}' cannot "
            "be found: define a function by 'def'"
        )
    node = (found or on_line)[0]
    result = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.FunctionDef("<lambda>", node.args, [result], [], None)
    return ast.fix_missing_locations(ast.copy_location(made, node)), code.co_filename
