"""The syntax tree of a Python function, and its place in a file."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Mapping
from types import CellType
from typing import Any

import msgspec

from mlirad.errors import SourceLocation, TaichiSyntaxError, spelled
from mlirad.frontend.python.source.assigned_names import (
    assigned_more_than_once,
    names_of_several_blocks,
    names_with_assigned_parts,
    resolver,
    stored_names,
)
from mlirad.frontend.python.source.lambdas import definition_of
from mlirad.frontend.python.source.match_statements import MatchesAsBranches
from mlirad.frontend.python.source.nodes import nodes_in
from mlirad.frontend.python.source.source_text import origin, parsed, text_of


class FunctionSource(msgspec.Struct):
    """A function's syntax tree; lines and columns of its nodes are relative to the offsets."""

    node: ast.FunctionDef
    file: str
    line_offset: int
    column_offset: int
    names: Names
    mutable: set[str] = msgspec.field(default_factory=set)
    stored: frozenset[str] = frozenset()  # names that are assigned: its locals, as in Python
    with_parts: frozenset[str] = frozenset()  # names of which entries are assigned
    in_blocks: frozenset[str] = frozenset()  # names that are assigned again in an inner block

    def place_of(self, node: ast.AST) -> SourceLocation:
        """Return the place of a node in the user's file."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return SourceLocation(self.file, line + self.line_offset, column + self.column_offset + 1)


def read_source(function: Callable[..., object]) -> FunctionSource:
    """Parse a function. Raises TaichiSyntaxError if its source cannot be read."""
    if function.__name__ == "<lambda>":
        node, file = definition_of(function)
        return _complete(FunctionSource(node, spelled(file), 0, 0, Names(function)))
    name = getattr(function, "__qualname__", str(function))
    try:
        lines, start, file = text_of(function)
    except (OSError, TypeError) as error:
        raise TaichiSyntaxError(
            f"cannot read the source of '{name}', which comes from {origin(function)}: a kernel "
            "is compiled from its source text. Put it in a file, and run or import the file"
        ) from error
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    definition = parsed(dedented).body[0]
    if isinstance(definition, ast.AsyncFunctionDef):
        raise TaichiSyntaxError(f"'{name}' is defined by 'async def': a kernel is a plain 'def'")
    if not isinstance(definition, ast.FunctionDef):
        raise TaichiSyntaxError(f"'{name}' must be defined by 'def': lambdas cannot be kernels")
    indent = len(text) - len(text.lstrip()) - (len(dedented) - len(dedented.lstrip()))
    names = Names(function)
    return _complete(FunctionSource(definition, spelled(file), start - 1, indent, names))


def _complete(source: FunctionSource) -> FunctionSource:
    """Replace `match` statements, and note the names that are assigned."""
    nodes = nodes_in(source.node)
    if any(isinstance(node, ast.Match) for node in nodes):
        try:
            MatchesAsBranches().visit(source.node)
        except TaichiSyntaxError as error:
            raise error.at(source.place_of(source.node)) from None
        nodes = nodes_in(source.node)
    source.stored = stored_names(nodes)
    source.in_blocks = names_of_several_blocks(source.node)
    source.with_parts = names_with_assigned_parts(nodes)
    resolve = resolver(source.names, nodes)
    source.mutable = assigned_more_than_once(source.node.args, nodes, resolve)
    return source


class Names(Mapping[str, Any]):
    """The names that a function sees from outside: its closure, then its module."""

    def __init__(self, function: Callable[..., object]) -> None:
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

    def home(self, name: str) -> CellType | dict[str, Any]:
        """The cell or the dictionary that holds the value of a name."""
        return self.cells.get(name, self.globals)

    def __iter__(self) -> Any:
        return iter({**self.globals, **self.cells})

    def __len__(self) -> int:
        return len(self.globals) + len(self.cells)
