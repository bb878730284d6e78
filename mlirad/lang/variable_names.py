"""The name of the variable to which the program assigns a new field: from the line of the call."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from typing import Any

from mlirad.frontend.python.source.source_text import parsed
from mlirad.lang.callers import program_frame

_Span = tuple[int | None, int | None, int | None, int | None]


def variable_name(default: str) -> str:
    """The variable that the running call of the program is assigned to, where its text tells."""
    frame, _ = program_frame()
    names = _assigned_names(
        frame.f_code.co_filename,
        tuple(linecache.getlines(frame.f_code.co_filename, frame.f_globals)),
    )
    name = names.get(list(frame.f_code.co_positions())[frame.f_lasti // 2], default)
    return name if name.isascii() and name.isidentifier() else default


@lru_cache(maxsize=32)
def _assigned_names(file: str, lines: tuple[str, ...]) -> dict[_Span, str]:
    """The names that calls are assigned to, by the place of the call."""
    try:
        tree = parsed("".join(lines), file)
    except SyntaxError:
        return {}
    names: dict[_Span, str] = {}
    for node in ast.walk(tree):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign | ast.NamedExpr)
            else []
        )
        value: Any = getattr(node, "value", None)
        for target in targets if value is not None else []:
            _pair(target, value, names)
    return names


def _pair(target: ast.expr, value: ast.expr, names: dict[_Span, str]) -> None:
    """Note the names that the calls within a value get from a target."""
    if (
        isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and (len(target.elts) == len(value.elts))
    ):
        for element, entry in zip(target.elts, value.elts):
            _pair(element, entry, names)
        return
    if isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values):
            if isinstance(key, ast.Constant):
                _note(str(key.value), entry, names)
    _note(_name(target), value, names)


def _note(name: str, value: ast.expr, names: dict[_Span, str]) -> None:
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and name:
            names.setdefault(
                (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset), name
            )


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Subscript):
        return (
            str(target.slice.value)
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)
            else _name(target.value)
        )
    if (
        isinstance(target, ast.Tuple | ast.List)
        and len({_name(entry) for entry in target.elts}) == 1
    ):
        return _name(target.elts[0])
    return ""
