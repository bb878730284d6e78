"""Checks of arguments against a function's annotations: one that does not fit is an error at the
line of the program that passes it."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property, wraps
from types import GenericAlias, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NoReturn,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from mlirad.errors import TaichiTypeError
from mlirad.te.expressions import Axis
from mlirad.te.expressions.operands import Kind
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")
_NAMES = {
    int: ("an integer", "integers"),
    float: ("a number", "numbers"),
    bool: ("True or False", "truth values"),
    str: ("text", "texts"),
    Axis: ("an axis", "axes"),
    Tensor: ("a tensor", "tensors"),
    NoneType: ("None", "None"),
}


class Parameters:
    """The parameters of a function, by its signature and its annotations. Those that cannot be
    evaluated say nothing."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.signature = function, inspect.signature(function)

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        try:
            hints = get_type_hints(self.function, include_extras=True)
        except NameError:
            return {}
        for name, parameter in self.signature.parameters.items():
            if name in hints and parameter.kind is parameter.VAR_POSITIONAL:
                hints[name] = GenericAlias(Sequence, (hints[name],))
            if name in hints and parameter.kind is parameter.VAR_KEYWORD:
                hints[name] = GenericAlias(Mapping, (str, hints[name]))
        return hints

    def check(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> inspect.BoundArguments:
        """The arguments of a call, with numbers of Python's in the places of NumPy's. Raises
        TaichiTypeError for what the function does not take."""
        name = self.function.__name__
        try:
            bound = self.signature.bind(*args, **keywords)
        except TypeError as error:
            raise TaichiTypeError(f"{name}: {error}", place()) from None
        for parameter, value in bound.arguments.items():
            argument = bound.arguments[parameter] = _plain(value)
            hint = self._hints.get(parameter, Any)
            if not fits(argument, hint):
                refuse(
                    name,
                    parameter,
                    f"is {shown_value(value)}, expected {describe(hint)}{_advice(hint, argument)}",
                )
        return bound


def refuse(function: str, argument: str, why: str) -> NoReturn:
    """Raise TaichiTypeError for an argument of a function: `why` follows its name, as in "is of no
    use"."""
    raise TaichiTypeError(f"{function}: {argument} {why}", place())


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function raise TaichiTypeError for arguments that it does not take. Parameters of type
    `Any` are its own to check."""
    parameters = Parameters(function)

    @wraps(function)
    def checks(*args: P.args, **keywords: P.kwargs) -> R:
        bound = parameters.check(args, keywords)
        return function(*bound.args, **bound.kwargs)

    return checks


def check_fields(instance: Any) -> None:
    """Raise TaichiTypeError if a field of a dataclass is not what its annotation says."""
    hints = get_type_hints(type(instance))
    for field in fields(instance):
        value = getattr(instance, field.name)
        if not fits(value, hints[field.name]):
            raise TaichiTypeError(
                f"{type(instance).__name__}: {field.name} is {shown_value(value)}, expected "
                f"{describe(hints[field.name])}",
                place(),
            )


def _plain(value: Any) -> Any:
    """Numbers of Python's in the places of NumPy's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list) and any(isinstance(item, np.generic) for item in value):
        return type(value)(map(_plain, value))
    return value


def check_call(function: Callable[..., Any], args: Sequence[Any], subject: str) -> None:
    """Raise TaichiTypeError if a function of the program takes other arguments, or is none; what
    has no signature takes any."""
    if not callable(function):
        raise TaichiTypeError(f"{subject} is {shown_value(function)}, expected a function", place())
    try:
        parameters = inspect.signature(function)
    except ValueError:
        return
    try:
        parameters.bind(*args)
    except TypeError as error:
        raise TaichiTypeError(f"{subject}: {error}", place()) from None


def call_function(function: Callable[..., Any], args: Sequence[Any], subject: str) -> Any:
    """Return the result of a function of the program. Raises TaichiTypeError if it does
    not take them."""
    check_call(function, args, subject)
    return function(*args)


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Annotated:
        return kind_of(hint).fits(value)
    if origin in (Union, UnionType):
        return any(fits(value, alternative) for alternative in inner)
    if origin is Sequence:
        is_several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return is_several and all(fits(element, inner[0]) for element in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            fits(key, inner[0]) and fits(entry, inner[1]) for key, entry in value.items()
        )
    if origin is tuple:
        return (
            isinstance(value, tuple) and len(value) == len(inner) and all(map(fits, value, inner))
        )
    if origin is Callable:
        return callable(value)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    kind = origin or hint
    is_plain = isinstance(kind, type) and not getattr(kind, "_is_protocol", False)
    return not is_plain or isinstance(value, kind)


def kind_of(hint: Any) -> Kind:
    """Return the condition of an annotation beyond its type."""
    kind: Kind = get_args(hint)[1]
    return kind


def _advice(hint: Any, value: Any) -> str:
    kinds = [kind_of(h) for h in (hint, *get_args(hint)) if get_origin(h) is Annotated]
    return next((advice for kind in kinds if (advice := kind.advice(value))), "")


def shown_value(value: Any) -> str:
    """A value in a message: short ones as they are written."""
    if value is None or isinstance(value, bool | int | float | str | tuple | list | dict):
        return reprlib.repr(value)
    return f"a {type(value).__name__}"


def describe(hint: Any, *, are_many: bool = False) -> str:
    """Return the name of a type in a message."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind_of(hint).plural if are_many else kind_of(hint).singular
    if origin in (Union, UnionType):
        return " or ".join(describe(alternative, are_many=are_many) for alternative in arguments)
    if origin is Sequence:
        return f"{'lists' if are_many else 'a list'} of {describe(arguments[0], are_many=True)}"
    if origin is Mapping:
        inner = " to ".join(describe(argument, are_many=True) for argument in arguments)
        return f"{'dictionaries' if are_many else 'a dictionary'} from {inner}"
    if origin is tuple:
        inner = ", ".join(map(describe, arguments))
        return f"{'tuples' if are_many else 'a tuple'} ({inner})"
    if origin is Callable:
        return "functions" if are_many else "a function"
    if hint in _NAMES:
        return _NAMES[hint][are_many]
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}s" if are_many else f"a {name}"
