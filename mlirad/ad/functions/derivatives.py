"""Derivatives of `@ti.func` called from Python: a kernel of their own for each choice of argument
shapes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.calls.specials import Special
from mlirad.frontend.python.calls.transforms import Transform, parameters_of
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.function_source import FunctionSource, Names
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values.annotations import MatrixType, Template, is_template
from mlirad.frontend.python.values.leaves import leaves, like
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import is_scalar
from mlirad.frontend.python.values.struct import Struct, map_members
from mlirad.frontend.python.values.struct_type import StructType, type_of
from mlirad.lang import matrix as lm
from mlirad.lang.arguments.constants import constant_key
from mlirad.lang.kernels.kernel import Kernel
from mlirad.types import DataType

MAX_ENTRIES = 1024


class Derivative(Transform):
    """A derivative of a function that kernels call, and Python too.

    From Python it takes numbers, vectors, matrices and NumPy arrays (of one or two axes, for
    vectors and matrices), in the types that are declared, else in the default types, and everything
    else as a compile-time value. It gives floats, and NumPy arrays where it was given some, else
    `ti.Vector` and `ti.Matrix`. Raises TaichiTypeError for a wrong number or type of arguments.
    """

    def __init__(
        self, kind: str, function: Function | Transform, argnums: int | Sequence[int] = 0
    ) -> None:
        super().__init__(kind, function, argnums)
        self._calls: dict[Any, _Call] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if in_kernel():
            raise TaichiSyntaxError(
                f"{self.__name__} is called by a Python function while a kernel is compiled: call "
                "it in the kernel, or in a @ti.func"
            )
        bound = bind(self, args, keywords)
        declared = parameters_of(self)
        arguments = _Arguments()
        expressions = [arguments.add(name, value, declared[name]) for name, value in bound.items()]
        key = tuple(arguments.keys)
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(self, arguments, expressions)
        return call.run(arguments.values, as_numpy=arguments.any_numpy)


def bind(
    function: Function | Transform, args: Sequence[Any], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call from Python by parameter name. Raises TaichiTypeError where they do
    not fit."""
    if isinstance(function, Transform):
        if function.extra is None:
            return bind(function.function, args, keywords)
        word = function.extra.split(" ")[0]
        if word not in keywords and not args:
            raise TaichiTypeError(
                f"{function.__name__} takes the arguments of '{function.function.__name__}', "
                f"then {word}="
            )
        last = keywords[word] if word in keywords else args[-1]
        others_by_name = {name: value for name, value in keywords.items() if name != word}
        arguments = bind(function.function, args if word in keywords else args[:-1], others_by_name)
        return {**arguments, function.extra: last}
    owner = () if function.owner is None else (function.owner,)
    try:
        bound = inspect.signature(function.function).bind(*owner, *args, **keywords)
    except TypeError as error:
        raise TaichiTypeError(f"a derivative of '{function.__name__}': {error}") from None
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[len(owner) :])


class _Arguments:
    """The arguments of one call: parameters of a kernel, what is passed for them, and what tells
    calls apart."""

    def __init__(self) -> None:
        self.parameters: list[tuple[str, Any]] = []
        self.values: list[Any] = []
        self.keys: list[Any] = []
        self.any_numpy = False

    def add(self, name: str, value: Any, declared: Any) -> ast.expr:
        """Take an argument; the expression that stands for it in the kernel."""
        if isinstance(value, tuple):
            self.keys.append(len(value))
            return ast.Tuple([self.add(name, member, declared) for member in value], ast.Load())
        annotation = _annotation(name, value, declared)
        parameter = f"argument{len(self.parameters)}"
        self.parameters.append((parameter, annotation))
        self.values.append(value)
        self.keys.append(_key(annotation, value))
        self.any_numpy |= isinstance(value, np.ndarray)
        return ast.Name(parameter, ast.Load())


def _annotation(name: str, value: Any, declared: Any) -> Any:
    """The type of the kernel's parameter for an argument."""
    if isinstance(value, Struct) and not is_template(declared):
        return declared if isinstance(declared, StructType) else type_of(value)
    is_array = isinstance(value, np.ndarray | list | Matrix)
    if is_template(declared) or not (is_array or is_scalar(value)):
        return Template()
    array = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)
    number = float if array.dtype.kind == "f" else int
    if array.ndim == 0:
        return (
            declared if isinstance(declared, DataType) or declared in (int, float, bool) else number
        )
    if array.ndim > 2 or not 0 < array.size <= MAX_ENTRIES or array.dtype.kind not in "fiu":
        raise TaichiTypeError(
            f"argument '{name}': an array of shape {array.shape} of {array.dtype}, expected a "
            f"vector or a matrix of up to {MAX_ENTRIES} numbers; ti.ad.grad(program, "
            "inputs=[...], output=...) differentiates with respect to fields"
        )
    dtype = (
        declared.dtype
        if isinstance(declared, MatrixType) and declared.dtype is not None
        else number
    )
    return MatrixType(
        array.shape[0], array.shape[1] if array.ndim == 2 else None, dtype, array.ndim
    )


def _key(annotation: Any, value: Any) -> Any:
    """Return what distinguishes arguments that need kernels of their own."""
    if isinstance(annotation, MatrixType):
        return annotation.shape, annotation.dtype
    if isinstance(annotation, StructType):
        return _struct_key(annotation)
    if isinstance(annotation, Template):
        key = constant_key(value)
        return id(value) if key is None else key
    return annotation


def _struct_key(kind: Any) -> Any:
    """Return what distinguishes types of members: structs by their members and methods."""
    if not isinstance(kind, StructType):
        return repr(kind)
    members = tuple([(name, _struct_key(member)) for name, member in kind.members.items()])
    return members, tuple(map(id, kind.methods.values()))


class _Call:
    """A kernel that calls a derivative, for one choice of argument shapes."""

    def __init__(
        self, derivative: Derivative, arguments: _Arguments, expressions: list[ast.expr]
    ) -> None:
        self.derivative, self.owners = derivative, arguments.values
        self.shape: Any = None  # a value of the result's structure, once the kernel is compiled
        call = Special(derivative.__name__, self._translate)

        def launched() -> Any:
            return call

        function = _innermost(derivative)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        launched.__name__ = f"{derivative.kind}_{function.__name__}"
        launched.__annotations__ = dict(arguments.parameters)
        launched.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, kind) for name, _ in arguments.parameters]
        )
        source = _source(launched, function.source, expressions)
        self.kernel = Kernel(launched, source=source)

    def _translate(self, t: Translator, node: ast.Call) -> tuple[Any, ...]:
        """The derivative's scalars, as the results of the kernel."""
        value = self.derivative.translate(t, node)
        scalars = leaves(value, f"the result of {self.derivative.__name__}")
        self.shape = like(value, [0.0] * len(scalars))
        t.frame.return_type = tuple([scalar.dtype for scalar in scalars])
        return tuple(scalars)

    def run(self, values: Sequence[Any], *, as_numpy: bool) -> Any:
        """Launch the kernel, and put its results together."""
        scalars = self.kernel(*values)
        return _of_python(like(self.shape, scalars), as_numpy)


def _innermost(function: Function | Transform) -> Function:
    return _innermost(function.function) if isinstance(function, Transform) else function


def _source(launched: Any, place: FunctionSource, arguments: list[ast.expr]) -> FunctionSource:
    """A function that returns `call(*arguments)`, and stands where another does."""
    names = [ast.arg(name) for name in launched.__annotations__]
    body = ast.Return(ast.Call(ast.Name("call", ast.Load()), arguments, []))
    node = ast.FunctionDef(
        launched.__name__, ast.arguments([], names, None, [], [], None, []), [body], []
    )
    for child in ast.walk(node):
        ast.copy_location(child, place.node)
    return FunctionSource(node, place.file, place.line_offset, place.column_offset, Names(launched))


def _of_python(value: Any, as_numpy: bool) -> Any:
    if isinstance(value, tuple):
        return tuple([_of_python(member, as_numpy) for member in value])
    if isinstance(value, Struct):
        return map_members(value, lambda member: _of_python(member, as_numpy=False))
    if isinstance(value, Matrix):
        return (
            np.array(value.rows_list())
            if as_numpy
            else lm.Matrix.of_shape(value.shape, value.entries)
        )
    return value
