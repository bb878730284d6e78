"""`ti.Struct`, `ti.types.struct` and `@ti.dataclass`."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from mlirad.checks import instance
from mlirad.errors import SourceLocation, TaichiCompilationError, TaichiSyntaxError, spelled
from mlirad.frontend.python.source.source_text import PARSER, parsed
from mlirad.frontend.python.values.annotations import unwrapped
from mlirad.frontend.python.values.struct import METHODS, Struct, set_maker
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.field.struct_field import declare


def struct(**members: Any) -> StructType:
    """The type of structs with some members; `__struct_methods` is a dictionary of functions."""
    return StructType(**members)


def dataclass(cls: type) -> StructType:
    """Return the struct type with the annotated members of a class, and its methods.

    Members and methods of base classes come first.

    Args:
        cls: the class.

    Returns:
        The struct type.

    Raises:
        TaichiSyntaxError: a member has a default value.
        TaichiCompilationError: a member is declared twice.
        TaichiTypeError: `cls` is not a class.
    """
    instance(cls, type, "what ti.dataclass marks", "a class")
    _refuse_twice(cls)
    members: dict[str, Any] = {}
    for kind in reversed(cls.__mro__):
        for name, declared in inspect.get_annotations(kind).items():
            if hasattr(kind, name):
                raise TaichiSyntaxError("Default value in @dataclass is not supported.")
            if name in members:
                raise TaichiCompilationError(
                    f"member '{name}' of '{cls.__name__}' is also declared in a base class"
                )
            members[name] = _evaluate(declared, kind)
    struct_type = StructType(**members, **{METHODS: _methods(cls)})
    struct_type.declared_by = cls
    return struct_type


def _methods(cls: type) -> dict[str, Any]:
    names = [name for name in dir(cls) if not name.startswith("__")]
    attributes = {name: inspect.getattr_static(cls, name) for name in names}
    return {name: method for name, method in attributes.items() if callable(getattr(cls, name))}


def _evaluate(declared: Any, cls: type) -> Any:
    """Return the value of an annotation that is text, in the scope of the class."""
    if not isinstance(declared, str):
        return unwrapped(declared)
    frame = sys._getframe(2)
    names = {**vars(sys.modules[cls.__module__]), **frame.f_locals}
    try:
        return unwrapped(eval(declared, names))
    except NameError as error:
        raise TaichiCompilationError(f"{error}, in the declaration of '{cls.__name__}'") from None


def _refuse_twice(cls: type) -> None:
    """Raise TaichiCompilationError if the body of a class declares a member twice, which Python
    does not see."""
    try:
        with PARSER:
            lines, start = inspect.getsourcelines(cls)
        file = spelled(inspect.getsourcefile(cls) or "<unknown>")
        node = parsed(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return  # there is no text
    indent = len(lines[0]) - len(lines[0].lstrip())
    statements: dict[str, ast.stmt] = {}
    for name, statement in _declarations(node):
        is_member = isinstance(statement, ast.AnnAssign)
        if name in statements and (is_member or isinstance(statements[name], ast.AnnAssign)):
            first, again = (
                SourceLocation(file, start - 1 + s.lineno, s.col_offset + 1 + indent)
                for s in (statements[name], statement)
            )
            raise TaichiCompilationError(
                f"member '{name}' of '{cls.__name__}' is declared twice",
                again,
                related=[(first, "first declared here")],
            )
        statements[name] = statement


def _declarations(node: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a class's body declares as members or methods."""
    for statement in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement
        elif isinstance(statement, ast.FunctionDef):
            yield statement.name, statement


set_maker(declare)
__all__ = ["Struct", "dataclass", "struct"]
