"""The scalars that stand for values, for one kind of value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from mlirad.bindings import ir

Scalars: TypeAlias = list[ir.Value]


class Kind(msgspec.Struct, frozen=True):
    """A kind of value, and the contract of functions that take or give it.

    Types of a class are split into as many scalars as `count` says; `memory` is the type of the
    memory in which public functions take and give a value, marked by `argument` and `result`.
    """

    noun: str
    type_class: type[ir.VectorType | ir.ComplexType]
    count: Callable[[ir.Type], int]
    memory: Callable[[ir.Type], ir.Type]
    argument: str
    result: str

    def is_split(self, type_: ir.Type) -> bool:
        """Return whether values of a type become several."""
        return isinstance(type_, self.type_class)

    def flat_types(self, types: Sequence[ir.Type]) -> list[ir.Type]:
        """Return the types of the scalars of all values, one value after another."""
        return [scalar for type_ in types for scalar in self._types(type_)]

    def _types(self, type_: ir.Type) -> list[ir.Type]:
        if not isinstance(type_, self.type_class):
            return [type_]
        return [type_.element_type] * self.count(type_)


class SplitValues:
    """The scalars of each value of a function."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.scalars: dict[ir.Value, Scalars] = {}
        self.replaced: list[ir.Operation] = []
        self.blocks: list[tuple[ir.Block, int]] = []  # with so many replaced arguments in front

    def of(self, value: ir.Value) -> Scalars:
        """Return the scalars of a value; one that stays is its own."""
        return self.scalars[value] if self.kind.is_split(value.type) else [value]

    def flatten(self, values: Sequence[ir.Value]) -> Scalars:
        """Return the scalars of all values, one value after another."""
        return [scalar for value in values for scalar in self.of(value)]

    def bind(self, value: ir.Value, scalars: Scalars) -> None:
        """Have scalars stand for a value."""
        if self.kind.is_split(value.type):
            self.scalars[value] = scalars
        else:
            value.replace_all_uses_with(scalars[0])

    def bind_all(self, values: Sequence[ir.Value], scalars: Scalars) -> None:
        """Have scalars stand for several values, one value after another."""
        remaining = iter(scalars)
        for value in values:
            self.bind(value, [next(remaining) for _ in self.kind.flat_types([value.type])])

    def erase_replaced(self) -> None:
        """Erase the values that were split, last use first."""
        for op in reversed(self.replaced):
            op.erase()
        for block, arguments in self.blocks:
            for _ in range(arguments):
                block.erase_argument(0)


# The scalars of all results of an op, one result after another. Ops made go in front of it.
Rule: TypeAlias = Callable[[ir.Operation, SplitValues], Scalars]
# An op that ends a block, made anew in front of the old one.
EndRule: TypeAlias = Callable[[ir.Operation, SplitValues], ir.Operation]
