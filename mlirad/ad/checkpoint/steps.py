"""The steps of a time loop, as what was done in each: kept so that many alike steps cost little."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_INTEGERS = "bhiq"  # type codes of arrays, the narrowest first
_RUNS = 64  # that many may be short


def is_same(left: Any, right: Any) -> bool:
    """Return whether a value need not be kept again: zeros of either sign, and numbers of different
    types, differ."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return (
            left.dtype == right.dtype
            and left.shape == right.shape
            and left.tobytes() == right.tobytes()
        )
    if isinstance(left, float):
        return left == right and (left != 0.0 or str(left) == str(right))
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    return isinstance(left, int | str | bytes | StepLog) and bool(left == right)


class Column:
    """Values, one after the other. Those that repeat, and integers that grow evenly, are kept as
    runs."""

    __slots__ = ("firsts", "length", "packed", "starts", "strides")

    def __init__(self) -> None:
        self.length = 0
        self.starts: Any = array("q")  # of the runs
        self.firsts: list[Any] = []
        self.strides: list[int] = []
        self.packed: Any = None  # all values, where runs turned out to be short

    def append(self, value: Any) -> None:
        number = self.length
        self.length += 1
        if self.packed is not None:
            self._append_packed(value)
        elif not self.firsts or not self._continues(value, number - self.starts[-1]):
            self.starts.append(number)
            self.firsts.append(value)
            self.strides.append(0)
            if len(self.firsts) > max(_RUNS, self.length // 4):
                self._pack()

    def _continues(self, value: Any, count: int) -> bool:
        first = self.firsts[-1]
        if type(value) is not int or type(first) is not int:
            return is_same(first, value)
        if count == 1:
            self.strides[-1] = value - first
            return True
        return value == first + count * self.strides[-1]

    def _pack(self) -> None:
        values = list(self)
        self.packed = array("b")
        self.starts, self.firsts, self.strides = array("q"), [], []
        if all(type(value) is float for value in values):
            self.packed = array("d")
        for value in values:
            self._append_packed(value)

    def _append_packed(self, value: Any) -> None:
        code = self.packed.typecode if isinstance(self.packed, array) else ""
        if code and type(value) is not (float if code == "d" else int):
            self.packed = list(self.packed)
        try:
            self.packed.append(value)
        except OverflowError:
            wider = _INTEGERS.index(code) + 1
            self.packed = (
                array(_INTEGERS[wider], self.packed)
                if wider < len(_INTEGERS)
                else list(self.packed)
            )
            self._append_packed(value)

    def __getitem__(self, number: int) -> Any:
        if self.packed is not None:
            return self.packed[number]
        run = bisect_right(self.starts, number) - 1
        first, stride = self.firsts[run], self.strides[run]
        return first + (number - self.starts[run]) * stride if stride else first

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(self.length))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column) or self.length != other.length:
            return False
        if self.packed is not None or other.packed is not None:
            return all(map(is_same, self, other))
        return (
            self.starts == other.starts
            and self.strides == other.strides
            and all(map(is_same, self.firsts, other.firsts))
        )

    __hash__ = None  # type: ignore[assignment]


class _Shape:
    """Steps that do the same actions with other arguments."""

    def __init__(self, number: int, actions: Sequence[Any], widths: Sequence[int]) -> None:
        self.number, self.actions = number, tuple(actions)
        self.columns = [[Column() for _ in range(width)] for width in widths]
        self.count = 0


class StepLog:
    """Steps, each a sequence of actions (hashable) with their arguments (tuples)."""

    def __init__(self) -> None:
        self.shapes: dict[Any, _Shape] = {}
        self.order: list[_Shape] = []
        # the shape of each step, and its number among those of that shape
        self.which, self.where = (Column(), Column())

    def append(self, step: Sequence[tuple[Any, tuple[Any, ...]]]) -> None:
        key = tuple([(action, len(arguments)) for action, arguments in step])
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = _Shape(
                len(self.order), [a for a, _ in step], [len(c) for _, c in step]
            )
            self.order.append(shape)
        for columns, (_, arguments) in zip(shape.columns, step):
            for column, argument in zip(columns, arguments):
                column.append(argument)
        self.which.append(shape.number)
        self.where.append(shape.count)
        shape.count += 1

    def __getitem__(self, number: int) -> list[tuple[Any, tuple[Any, ...]]]:
        shape, position = self.order[self.which[number]], self.where[number]
        return [
            (action, tuple([column[position] for column in columns]))
            for action, columns in zip(shape.actions, shape.columns)
        ]

    def __len__(self) -> int:
        return len(self.which)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StepLog)
            and list(self.shapes) == list(other.shapes)
            and self.which == other.which
            and all(shape.columns == twin.columns for shape, twin in zip(self.order, other.order))
        )

    __hash__ = None  # type: ignore[assignment]
