"""Arguments of a call to the parameters of a `@ti.func`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python import scalar as ex
from mlirad.frontend.python.annotations import MatrixType, is_template
from mlirad.frontend.python.conversions import convert, convert_result
from mlirad.frontend.python.function import Function
from mlirad.frontend.python.places import array_ref
from mlirad.frontend.python.struct import Struct
from mlirad.frontend.python.struct_type import StructType
from mlirad.frontend.python.translator import Translator
from mlirad.types import DataType

MAX_INLINE_DEPTH = 64


@dataclass(frozen=True)
class Binding:
    """What a parameter stands for in one call."""

    value: Any
    by_reference: bool = False


Bindings = dict[str, Binding]


def bind_parameters(t: Translator, function: Function, node: ast.Call) -> Bindings:
    """The arguments of a call by parameter name."""
    if len(t.frames) > MAX_INLINE_DEPTH:
        raise TaichiCompilationError(
            f"'{function.__name__}' calls itself: recursion is not supported"
        )
    arguments = function.source.node.args
    if arguments.vararg or arguments.kwarg:
        raise TaichiSyntaxError(
            f"'{function.__name__}' takes *args or **kwargs, which a @ti.func cannot"
        )
    names = [argument.arg for argument in arguments.args]
    bound: Bindings = {}
    if function.owner is not None:
        bound[names.pop(0)] = Binding(
            function.owner, by_reference=not isinstance(function.owner, Struct)
        )
    for name, given in list(_given(t, function, names, node)):
        if name in bound:
            raise TaichiSyntaxError(
                f"Multiple values for argument '{name}' of '{function.__name__}'"
            )
        bound[name] = _bound(t, function, name, given)
    _add_defaults(function, names, bound)
    return bound


def _given(
    t: Translator, function: Function, names: list[str], node: ast.Call
) -> Iterator[tuple[str, Any]]:
    """What a call gives to which parameter: nodes, and values that come out of a starred one."""
    position = 0
    for argument in node.args:
        starred = (
            list(t.visit_value(argument.value)) if isinstance(argument, ast.Starred) else [argument]
        )
        for item in starred:
            if position >= len(names):
                raise TaichiSyntaxError(
                    f"Too many arguments: '{function.__name__}' takes {len(names)}"
                )
            yield names[position], item
            position += 1
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise TaichiSyntaxError(
                f"Unexpected argument '{keyword.arg}' for '{function.__name__}'"
            )
        yield keyword.arg, keyword.value


def _add_defaults(function: Function, names: list[str], bound: Bindings) -> None:
    """Bind the parameters that a call leaves out. Raises TaichiSyntaxError where one has no
    default."""
    defaults = function.function.__defaults__ or ()
    known = dict(zip(reversed(names), reversed(defaults)))
    for name in names:
        if name not in bound:
            if name not in known:
                raise TaichiSyntaxError(
                    f"Parameter `{name}` missing in a call of '{function.__name__}'"
                )
            bound[name] = Binding(known[name])


def _bound(t: Translator, function: Function, name: str, given: Any) -> Binding:
    """A node, or a value, as an argument of a declared type."""
    declared = function.annotation(name)
    if is_template(declared):
        return Binding(t.visit(given) if isinstance(given, ast.AST) else given, by_reference=True)
    value = t.visit_value(given) if isinstance(given, ast.AST) else given
    if array_ref(value) is not None:
        return Binding(value, by_reference=True)
    if isinstance(declared, StructType):
        return Binding(convert_result(t, declared, value))
    if isinstance(declared, MatrixType):
        return Binding(declared(value))
    if isinstance(declared, DataType) or declared in (int, float, bool):
        if not ex.is_scalar(value):
            raise TaichiTypeError(
                f"parameter '{name}' of '{function.__name__}' is a scalar, but got a "
                f"{type(value).__name__}"
            )
        return Binding(convert(t, declared, [value]))
    return Binding(value)
