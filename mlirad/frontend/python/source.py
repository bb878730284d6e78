"""The syntax tree of a Python function, with the place it came from."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from mlirad.errors import SourceLocation, TaichiSyntaxError
from mlirad.frontend.python.assigned_names import assigned_more_than_once, known_names, stored_names


@dataclass
class FunctionSource:
    """A function's syntax tree; lines and columns of its nodes are relative to the offsets."""

    node: ast.FunctionDef
    file: str
    line_offset: int
    column_offset: int
    names: Names
    mutable: set[str] = field(default_factory=set)
    stored: frozenset[str] = frozenset()  # names that are assigned: its locals, as in Python

    def place_of(self, node: ast.AST) -> SourceLocation:
        """Where a node stands in the user's file."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return SourceLocation(self.file, line + self.line_offset, column + self.column_offset + 1)


def read_source(function: Callable[..., object]) -> FunctionSource:
    """Parse a function. Raises TaichiSyntaxError where its source cannot be read."""
    name = getattr(function, "__qualname__", str(function))
    try:
        _show_command_line(function)
        lines, start = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "<unknown>"
    except (OSError, TypeError) as error:
        raise TaichiSyntaxError(
            f"cannot read the source of '{name}', which comes from {_origin(function)}: a kernel "
            "is compiled from its text. Put it into a file, and run or import that"
        ) from error
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    tree = ast.parse(dedented)
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise TaichiSyntaxError(f"'{name}' is not defined by 'def': lambdas cannot be kernels")
    indent = len(text) - len(text.lstrip()) - (len(dedented) - len(dedented.lstrip()))
    source = FunctionSource(node, file, start - 1, indent, Names(function))
    source.stored = stored_names(node)
    source.mutable = assigned_more_than_once(node, known_names(source.names, node.body))
    return source


def _origin(function: Callable[..., object]) -> str:
    """Where a function without source text comes from."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return {
        "<stdin>": "standard input or an interactive prompt",
        "<string>": "exec() or eval()",
    }.get(file, f"'{file}'")


def _show_command_line(function: Callable[..., object]) -> None:
    """Let `inspect` and messages read the program of `python -c`.

    Raises OSError for a function that an exec() made, whose text would be looked for in that
    program too.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename != "<string>":
        return
    program = _command_line_program()
    if program is None or not _holds(compile(program, "<string>", "exec", dont_inherit=True), code):
        raise OSError("no text is kept of what exec() runs")
    linecache.cache["<string>"] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        "<string>",
    )


def _holds(code: CodeType, wanted: CodeType) -> bool:
    """Whether code, or a function in it, is the wanted code."""
    return code == wanted or any(
        _holds(part, wanted) for part in code.co_consts if isinstance(part, CodeType)
    )


def _command_line_program() -> str | None:
    """The text behind `-c`, or None."""
    given = sys.orig_argv[1:]
    flags = [k for k, text in enumerate(given) if re.fullmatch("-[A-Za-z]*c", text)]
    return (
        given[flags[0] + 1]
        if sys.argv[:1] == ["-c"] and flags and flags[0] + 1 < len(given)
        else None
    )


class Names(Mapping[str, Any]):
    """What a function sees from outside: its closure, then its module."""

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

    def __iter__(self) -> Any:
        return iter({**self.globals, **self.cells})

    def __len__(self) -> int:
        return len(self.globals) + len(self.cells)
