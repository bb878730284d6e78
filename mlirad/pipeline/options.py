"""The options of passes and pipelines: their types and limits are those of the keyword
arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, get_args

import msgspec

from mlirad.ir.limits import Limit

_INTEGER = re.compile(r"-?[0-9]{1,18}")


class PipelineError(ValueError):
    """A pipeline that cannot be run: malformed text, an unknown pass, a wrong option."""


class Option(msgspec.Struct, frozen=True):
    """An option with its type, what its values may be, and its value where it is not given."""

    owner: str
    name: str
    kind: type
    default: Any
    limit: Limit | None

    def value(self, text: str) -> Any:
        """The value that a text spells. Raises PipelineError for one that the option cannot
        have."""
        value = self._parse(text)
        if self.limit is not None and not self.limit.admits(value):
            raise PipelineError(
                f"{self} is {self.limit}, not {text if self.kind is int else repr(text)}"
            )
        return value

    def _parse(self, text: str) -> Any:
        if self.kind is bool:
            if text not in ("true", "false", ""):
                raise PipelineError(f"{self} is true or false, not '{text}'")
            return text != "false"
        if self.kind is int:
            if not _INTEGER.fullmatch(text):
                raise PipelineError(f"{self} has values of type int, not '{text}'")
            return int(text)
        return text

    def __str__(self) -> str:
        return f"option '{self.name}' of '{self.owner}'"


def options_of(function: Callable[..., object], owner: str = "") -> dict[str, Option]:
    """The options of a pass or a pipeline, its keyword arguments."""
    return {name: _option(function, owner, name) for name in _keywords(function)}


def _keywords(function: Callable[..., object]) -> tuple[str, ...]:
    """The names of what is passed by its name only; `inspect` takes a hundred times as long."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    return code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]


@cache
def _option(function: Callable[..., object], owner: str, name: str) -> Option:
    assert isinstance(function, FunctionType)
    hint = function.__annotations__[name]
    if isinstance(hint, str):
        hint = eval(hint, function.__globals__)
    kind, *limits = get_args(hint) or (hint,)
    assert kind in (bool, int, str), f"{owner}: option '{name}' of type {kind}"
    limit = next((item for item in limits if isinstance(item, Limit)), None)
    assert kind is not int or limit is not None, f"{owner}: option '{name}' has no range"
    return Option(owner, name, kind, (function.__kwdefaults__ or {})[name], limit)


def parse_options(function: Callable[..., object], name: str, text: str) -> dict[str, Any]:
    """`a=1 b=x` as keyword arguments. Raises PipelineError for what is not an option, or not a
    value of one."""
    values: dict[str, Any] = {}
    for item in text.split():
        key, _, value = item.partition("=")
        key = key.replace("-", "_")
        if key not in _keywords(function):
            names = ", ".join(_keywords(function)) or "none"
            raise PipelineError(f"'{name}' has no option '{key}' (options: {names})")
        values[key] = _option(function, name, key).value(value)
    return values


def spell(value: object) -> str:
    """A value as it is written on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
