"""Launches of kernels, and calls of functions, that Python runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.function_source import FunctionSource
from mlirad.frontend.python.values.annotations import MatrixType, NdarrayType
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.arguments.numbers import convert_scalar, scalar_dtype
from mlirad.lang.arguments.parameters import COMPOSITE, NDARRAY, SCALAR, Parameter
from mlirad.lang.host.host_array import HostArray
from mlirad.lang.python_machine import elements
from mlirad.lang.python_machine.array_elements import ArrayOfMatrices, shared_memory
from mlirad.lang.python_machine.callees import callee
from mlirad.lang.python_machine.elements import typed, value_of
from mlirad.lang.python_machine.rewritten import executable
from mlirad.runtime.program import program
from mlirad.types import DataType

_HELPERS = SimpleNamespace(callee=callee, **vars(elements))
_SCALARS = (int, float, bool)


class Declaration(Protocol):
    """The declarations of a kernel's function."""

    function: Callable[..., Any]
    return_type: Any

    @property
    def source(self) -> FunctionSource:
        """Its syntax tree."""

    @property
    def in_packs(self) -> list[Parameter]:
        """Its parameters."""

    def bind_packs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arguments of a call, one for each parameter."""


_executables: WeakKeyDictionary[Callable[..., Any], FunctionType] = WeakKeyDictionary()


def _executable(function: Callable[..., Any], declared: Declaration | Function) -> Any:
    """Return a function as Python runs it, rewritten once."""
    if function not in _executables:
        _executables[function] = executable(function, declared.source, _HELPERS)
    return _executables[function]


def run_kernel(declaration: Declaration, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a kernel. Raises TaichiRuntimeTypeError for arguments that are not of their types."""
    trees = program().trees
    if trees.pending:
        trees.materialize()
    parameters = declaration.in_packs
    values = [_argument(*pair) for pair in zip(parameters, declaration.bind_packs(args, kwargs))]
    function = _executable(declaration.function, declaration)
    with np.errstate(all="ignore"):
        result = function(**{p.name: v for p, v in zip(parameters, values)})
    return _plain(_result(declaration.return_type, result))


def _argument(param: Parameter, value: object) -> Any:
    if param.kind == SCALAR:
        number = convert_scalar(value, scalar_dtype(param, program().config), param.name)
        return typed(param.annotation, number)
    if param.kind == COMPOSITE:
        return typed(param.annotation, value)
    return _array(param.annotation, value, param.name) if param.kind == NDARRAY else value


def _array(annotation: NdarrayType, value: object, name: str) -> Any:
    """Return an array argument: one of matrices is an array of elements."""
    value = shared_memory(value)
    if not isinstance(value, HostArray | np.ndarray | ArrayOfMatrices):
        raise TaichiRuntimeTypeError(
            f"Argument {name} (type={type(value).__name__}) cannot be converted into an array"
        )
    element = annotation.dtype
    if isinstance(value, np.ndarray) and isinstance(element, MatrixType):
        return ArrayOfMatrices(value, value.shape[value.ndim - element.ndim :])
    return value


def run_function(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a `@ti.func`; its arguments are values, but what is `ti.template()`."""
    bound = inspect.signature(function.function).bind(*args, **kwargs)
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        kind = function.annotation(name)
        is_typed = isinstance(kind, DataType | MatrixType | StructType) or kind in _SCALARS
        if is_typed and not getattr(kind, "is_open", False):
            bound.arguments[name] = typed(kind, value)
        elif kind is None and name != "self":
            bound.arguments[name] = value_of(value)
    run = _executable(function.function, function)
    with np.errstate(all="ignore"):
        return _result(function.result_type(), run(*bound.args, **bound.kwargs))


def _result(kind: object, value: Any) -> Any:
    """Return a result in its declared type."""
    if kind is None or value is None:
        return value
    if isinstance(kind, tuple):
        return tuple(_result(*pair) for pair in zip(kind, value))
    return typed(kind, value)


def _plain(value: object) -> Any:
    """Return a result as Python's numbers."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, elements.Matrix):
        return value.like([_plain(entry) for entry in value.entries])
    if isinstance(value, elements.Struct):
        members = elements.members_of(value)
        plain = {name: _plain(member) for name, member in members.items()}
        return elements.struct_of(plain, elements.methods_of(value))
    return value.item() if isinstance(value, np.generic) else value
