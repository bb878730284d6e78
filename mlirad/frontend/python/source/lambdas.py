"""Lambdas as functions: found in the text around them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Sequence
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.source.source_text import as_imported, may_be_edited, parsed


def definition_of(function: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
    """A lambda as a function that returns its expression, with its places in its file. Raises
    TaichiSyntaxError where the text around it is not known, or fits several."""
    code = function.__code__
    lines: Sequence[str] = linecache.getlines(code.co_filename)
    start, moved = code.co_firstlineno, 0
    if may_be_edited(code.co_filename):
        lines, position = as_imported(code, [lines])
        start, moved = position + 1, position + 1 - start
    try:
        tree = parsed("".join(lines))
    except SyntaxError:
        tree = ast.Module([], [])
    on_line = [
        node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == start
    ]
    places = {(line + moved, column) for line, _, column, _ in code.co_positions() if line}
    matches = [node for node in on_line if (node.body.lineno, node.body.col_offset) in places]
    if len(matches if len(on_line) > 1 else on_line) != 1:
        raise TaichiSyntaxError(
            f"cannot find the source of the lambda in line {code.co_firstlineno} of "
            f"'{code.co_filename}': define a function by 'def'"
        )
    node = (matches or on_line)[0]
    result = ast.copy_location(ast.Return(node.body), node.body)
    definition = ast.FunctionDef("<lambda>", node.args, [result], [], None)
    return ast.fix_missing_locations(ast.copy_location(definition, node)), code.co_filename
