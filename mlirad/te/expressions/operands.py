"""Kinds of arguments beyond types, `Annotated[Any, Kind(...)]`, and those of scalar functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mlirad.te.expressions.tree import Expr
from mlirad.types import u1


@dataclass(frozen=True)
class Kind:
    """A kind of argument: its names in messages, and a test of values; `advice` is for those
    who give something else."""

    singular: str
    plural: str
    fits: Callable[[Any], bool]
    advice: Callable[[Any], str] = lambda value: ""


def _number_of(value: Any) -> Any:
    """A number of Python's in the place of an array without axes."""
    is_array = hasattr(value, "item") and getattr(value, "shape", None) == ()
    return value.item() if is_array else value


def _advice(value: Any) -> str:
    if isinstance(_number_of(value), int):
        return " of 64 bits"
    return ": give the indices of an element" if hasattr(value, "element_type_of_te") else ""


def _is_operand(value: Any) -> bool:
    number = _number_of(value)
    if isinstance(number, int):
        return -(1 << 63) <= number < 1 << 63
    return isinstance(number, Expr | float)


def _is_condition(value: Any) -> bool:
    return value.dtype == u1 if isinstance(value, Expr) else isinstance(_number_of(value), bool)


Operand = Annotated[
    Any, Kind("an expression or a number", "expressions or numbers", _is_operand, _advice)
]
Condition = Annotated[Any, Kind("a condition", "conditions", _is_condition, _advice)]
