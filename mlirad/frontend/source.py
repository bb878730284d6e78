"""The syntax tree of a Python function, with the place it came from."""
from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.assigned_names import assigned_more_than_once, known_names


@dataclass
class FunctionSource:
    """A function's syntax tree; lines and columns of its nodes are relative to the offsets."""

    node: ast.FunctionDef
    file: str
    line_offset: int
    column_offset: int
    names: Names
    mutable: set[str] = field(default_factory=set)


def read_source(function: Callable[..., Any]) -> FunctionSource:
    """Parse a function. Raises TaichiSyntaxError where its source cannot be read."""
    name = getattr(function, "__qualname__", str(function))
    try:
        lines, start = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "<unknown>"
    except (OSError, TypeError) as error:
        raise TaichiSyntaxError(f"cannot read the source of '{name}': define it in a file, "
                                "not in exec() or an interactive prompt") from error
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    tree = ast.parse(dedented)
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise TaichiSyntaxError(f"'{name}' is not defined by 'def': lambdas cannot be kernels")
    indent = len(text) - len(text.lstrip()) - (len(dedented) - len(dedented.lstrip()))
    source = FunctionSource(node, file, start - 1, indent, Names(function))
    source.mutable = assigned_more_than_once(node, known_names(source.names, node.body))
    return source


class Names(Mapping[str, Any]):
    """What a function sees from outside: its closure, then its module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self.globals: dict[str, Any] = function.__globals__
        self.cells = dict(zip(code.co_freevars, function.__closure__ or ()))

    def __getitem__(self, name: str) -> Any:
        cell = self.cells.get(name)
        if cell is not None:
            try:
                return cell.cell_contents
            except ValueError:
                raise KeyError(name) from None
        return self.globals[name]

    def __iter__(self) -> Any:
        return iter({**self.globals, **self.cells})

    def __len__(self) -> int:
        return len(self.globals) + len(self.cells)
