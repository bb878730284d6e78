"""Arguments of a call to the parameters of a `@ti.func`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import msgspec

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.places.arrays import ArrayRef, array_ref
from mlirad.frontend.python.places.place import Place
from mlirad.frontend.python.places.views import KernelView
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.translation.conversions import convert, convert_result
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import (
    BufferViewType,
    FieldOrArray,
    MatrixType,
    NdarrayType,
    Reference,
    declared_type,
    is_dataclass_type,
    is_template,
)
from mlirad.frontend.python.values.leaves import kind_of
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.types import DataType, resolve

MAX_INLINE_DEPTH = 64


class Binding(msgspec.Struct, frozen=True):
    """The value of a parameter in one call, or the place that it stands for."""

    value: Any
    by_reference: bool = False


Bindings = dict[str, Binding]


def bind_parameters(t: Translator, function: Function, node: ast.Call) -> Bindings:
    """The arguments of a call by parameter name."""
    if len(t.frames) > MAX_INLINE_DEPTH:
        raise TaichiCompilationError(
            f"'{function.__name__}' calls itself: recursion is only supported in the text of a "
            "@ti.real_func"
        )
    arguments = function.source.node.args
    if arguments.vararg or arguments.kwarg:
        raise TaichiSyntaxError(
            f"'{function.__name__}' takes *args or **kwargs, which a @ti.func does not support"
        )
    names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    bound: Bindings = {}
    if function.owner is not None:
        bound[names.pop(0)] = Binding(
            function.owner, by_reference=not isinstance(function.owner, Struct)
        )
    by_keyword = [parameter.arg for parameter in arguments.kwonlyargs]
    for name, argument in list(_arguments(t, function, names, by_keyword, node)):
        if name in bound:
            raise TaichiSyntaxError(
                f"Multiple values for argument '{name}' of '{function.__name__}'"
            )
        bound[name] = _bind(t, function, name, argument)
    _add_defaults(t, function, [*names, *by_keyword], bound)
    return bound


def _arguments(
    t: Translator, function: Function, names: list[str], by_keyword: list[str], node: ast.Call
) -> Iterator[tuple[str, Any]]:
    """The arguments of a call by parameter: nodes, and values of a starred one."""
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
    only_positional = {argument.arg for argument in function.source.node.args.posonlyargs}
    for keyword in node.keywords:
        spread = (
            t.visit_value(keyword.value) if keyword.arg is None else {keyword.arg: keyword.value}
        )
        for name, item in spread.items():
            if name in only_positional or name not in (*names, *by_keyword):
                raise TaichiSyntaxError(f"Unexpected argument '{name}' for '{function.__name__}'")
            yield name, item


def _add_defaults(t: Translator, function: Function, names: list[str], bound: Bindings) -> None:
    """Bind the parameters that a call leaves out. Raises TaichiSyntaxError if one has no
    default."""
    declared = inspect.signature(function.function).parameters
    defaults = {
        name: parameter.default
        for name, parameter in declared.items()
        if parameter.default is not inspect.Parameter.empty
    }
    for name in names:
        if name not in bound:
            if name not in defaults:
                raise TaichiSyntaxError(
                    f"Parameter `{name}` missing in a call of '{function.__name__}'"
                )
            bound[name] = _bind(t, function, name, defaults[name])


def _bind(t: Translator, function: Function, name: str, argument: Any) -> Binding:
    """Bind a node, or a value, as an argument of a declared type."""
    declared = declared_type(function.annotation(name))
    if is_template(declared) or isinstance(declared, FieldOrArray) or is_dataclass_type(declared):
        return Binding(
            t.visit(argument) if isinstance(argument, ast.AST) else argument, by_reference=True
        )
    if isinstance(declared, Reference):
        return Binding(_variable(t, declared, name, argument), by_reference=True)
    value = t.visit_value(argument) if isinstance(argument, ast.AST) else argument
    array = array_ref(value)
    if isinstance(declared, NdarrayType):
        _check_array(declared, name, array)
    if isinstance(declared, BufferViewType):
        _check_view(declared, name, array)
    if array is not None:
        return Binding(value, by_reference=True)
    if isinstance(declared, StructType):
        return Binding(convert_result(t, declared, value))
    if isinstance(declared, MatrixType):
        return Binding(_matrix(declared, name, value))
    if isinstance(declared, DataType) or declared in (int, float, bool):
        if not ex.is_scalar(value):
            raise TaichiTypeError(
                f"parameter '{name}' of '{function.__name__}' is a scalar, but got a "
                f"{type(value).__name__}"
            )
        return Binding(convert(t, declared, [value]))
    return Binding(value)


def _matrix(declared: MatrixType, name: str, value: Any) -> Matrix:
    """An argument as a matrix of the declared type. Raises TaichiSyntaxError for another shape."""
    if isinstance(value, Matrix):
        shape = (*value.shape, 1)[:2] if declared.ndim == 2 else value.shape
        for letter, expected, actual in zip("nm", declared.shape, shape):
            if expected != actual and not declared.is_open:
                raise TaichiSyntaxError(
                    f"Argument {name} of type {declared} is expected to be a Matrix with {letter} "
                    f"{expected}, but got {actual}"
                )
    return declared(value)


def _variable(t: Translator, declared: Reference, name: str, argument: Any) -> Place:
    """The place of a parameter by reference: a variable or an element of the declared type."""
    place = t.visit_place(argument) if isinstance(argument, ast.AST) else None
    if place is None:
        raise TaichiTypeError(f"parameter '{name}' is a reference: pass a variable")
    value, expected = place.load(), declared.dtype
    if isinstance(expected, MatrixType):
        fits = isinstance(value, Matrix) and expected.admits(value.shape)
    else:
        fits = isinstance(value, Expr) and value.dtype == t.resolve(expected)
    if not fits:
        actual = value.dtype if isinstance(value, Expr) else kind_of(value)
        raise TaichiTypeError(f"parameter '{name}' is a reference to {expected}, but got {actual}")
    return place


def _check_view(declared: BufferViewType, name: str, array: object) -> None:
    """Raise TaichiTypeError for an argument that is no view, or not as declared."""
    if not isinstance(array, KernelView):
        raise TaichiTypeError(f"Expected a BufferView for argument {name}")
    _check_array(NdarrayType(declared.dtype, 1), name, array.array)


def _check_array(declared: NdarrayType, name: str, array: object) -> None:
    """Raise TaichiTypeError for an argument that is no array of the kernel, or not as declared."""
    if not isinstance(array, ArrayRef):
        raise TaichiTypeError(f"Expected ndarray in the kernel argument for argument {name}")
    expected, prefix = declared.dtype, f"Invalid value for argument {name} - "
    if declared.ndim not in (None, len(array.shape)):
        raise TaichiTypeError(f"{prefix}required ndim={declared.ndim}, got {len(array.shape)}")
    if isinstance(expected, MatrixType):
        fits = expected.admits(array.element_shape)
        expected = expected.dtype
    else:
        fits = expected is None or not array.element_shape
    if not fits or (expected is not None and resolve(expected) != array.dtype):
        raise TaichiTypeError(
            f"{prefix}required element type: {declared.dtype}, but elements of shape "
            f"{array.element_shape} of {array.dtype} are provided"
        )
