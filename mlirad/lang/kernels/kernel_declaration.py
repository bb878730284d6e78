"""Declarations of a kernel's function: its source, its parameters, its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.source.function_source import FunctionSource, read_source
from mlirad.frontend.python.values.annotations import Template, unwrapped
from mlirad.lang.arguments.packs import unpack
from mlirad.lang.arguments.parameters import PACK, TEMPLATE, Parameter, flatten_packs, parameter


class KernelDeclaration:
    """The function of a kernel, or (with an owner) of a kernel that is a method of a data-oriented
    object."""

    def __init__(
        self,
        function: Callable[..., Any],
        owner: object = None,
        shared: KernelDeclaration | None = None,
        source: FunctionSource | None = None,
    ) -> None:
        self.function, self.owner, self.name = function, owner, function.__name__
        self._shared = shared
        self._source = source
        self._parameters: list[Parameter] | None = None
        self._by_keyword = 0  # how many are given by their names only
        self._own: list[Parameter] = []  # in which a pack is one
        self.return_type: Any = None  # once the parameters were asked for

    @property
    def source(self) -> FunctionSource:
        """The syntax tree, read once. Raises TaichiSyntaxError if it cannot be."""
        if self.name == "<lambda>":
            raise TaichiSyntaxError("a kernel must be defined by 'def': lambdas cannot be kernels")
        if self._source is None:
            shared = self._shared
            self._source = read_source(self.function) if shared is None else shared.source
        return self._source

    @property
    def parameters(self) -> list[Parameter]:
        """The declared parameters, with those of packs. Raises TaichiSyntaxError for those without
        a type."""
        if self._parameters is None:
            self._own = self._read_parameters()
            self._parameters = list(flatten_packs(self._own, self.name))
        return self._parameters

    @property
    def in_packs(self) -> list[Parameter]:
        """The declared parameters, in which a pack is one."""
        _ = self.parameters
        return self._own

    def _read_parameters(self) -> list[Parameter]:
        signature = inspect.signature(self.function, eval_str=False)
        hints = self.function.__annotations__
        for name, hint in hints.items():
            if isinstance(hint, str):
                raise TaichiSyntaxError(
                    f"Invalid type annotation (argument {name}) of kernel '{self.name}': {hint}"
                )
        declared = hints.get("return", inspect.Signature.empty)
        self.return_type = (
            None if declared in (inspect.Signature.empty, None) else _return_type(declared)
        )
        names = list(signature.parameters)
        kinds = [param.kind for param in signature.parameters.values()]
        self._by_keyword = kinds.count(inspect.Parameter.KEYWORD_ONLY)
        parameters = []
        for position, name in enumerate(names):
            kind = signature.parameters[name].kind
            if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise TaichiSyntaxError(
                    f"Taichi kernels do not support variable number of parameters: "
                    f"'{name}' of '{self.name}'"
                )
            if position == 0 and (self.owner is not None or (name == "self" and name not in hints)):
                parameters.append(Parameter(name, TEMPLATE, Template()))
                continue
            parameters.append(parameter(name, hints.get(name), self.name))
        return parameters

    @property
    def place(self) -> str:
        """The line where it is defined."""
        return f"{self.source.file}:{self.source.node.lineno + self.source.line_offset}"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments of a call, one for each parameter. Raises TaichiSyntaxError if they do
        not fit."""
        if len(self.parameters) == len(self._own) and all(p.kind != PACK for p in self._own):
            return self.bind_packs(args, kwargs)
        arguments: list[Any] = []
        for param, value in zip(self._own, self.bind_packs(args, kwargs)):
            arguments += (
                unpack(value, param.annotation, param.name) if param.kind == PACK else [value]
            )
        return arguments

    def bind_packs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments as they are given, once the parameters were asked for."""
        arguments = [self.owner, *args] if self.owner is not None else list(args)
        parameters = self._own
        if len(arguments) == len(parameters) and not kwargs and not self._by_keyword:
            return arguments
        if self.owner is not None and not parameters:
            raise TaichiSyntaxError(
                f"kernel '{self.name}' is a method without the parameter self: write "
                f"def {self.name}(self):",
                self.source.place_of(self.source.node),
            )
        if len(arguments) > len(parameters) - self._by_keyword:
            count = len(parameters) - self._by_keyword - (self.owner is not None)
            raise TaichiSyntaxError(
                f"Too many arguments: kernel '{self.name}' takes {count}, "
                f"but got {len(args) + len(kwargs)}"
            )
        names = [p.name for p in parameters]
        bound = dict(zip(names, arguments))
        for name, value in kwargs.items():
            if name not in names:
                raise TaichiSyntaxError(f"Unexpected argument '{name}' for kernel '{self.name}'")
            if name in bound:
                raise TaichiSyntaxError(
                    f"Multiple values for argument '{name}' of kernel '{self.name}'"
                )
            bound[name] = value
        declared = inspect.signature(self.function).parameters
        for p in parameters:
            default = declared[p.name].default
            if p.name not in bound and default is inspect.Parameter.empty:
                raise TaichiSyntaxError(
                    f"Parameter `{p.name} : {p.annotation}` missing in a call of kernel "
                    f"'{self.name}'"
                )
            bound.setdefault(p.name, default)
        return [bound[name] for name in names]


def _return_type(annotation: object) -> Any:
    declared = unwrapped(annotation)
    if isinstance(declared, UnionType):
        raise TaichiSyntaxError(f"the result of a kernel has one type: got {declared}")
    if arguments := getattr(declared, "__args__", None):
        return tuple(arguments)
    return tuple(declared) if isinstance(declared, list) else declared
