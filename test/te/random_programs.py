"""Random programs of tensor expressions: trees of tuples, which `program_tensors.py` reads as
expressions of `te`, and `program_arrays.py` as arrays over all points at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Node = tuple[Any, ...]
FUNCTIONS = ("sin", "tanh", "abs", "root", "neg")


@dataclass
class Definition:
    """A tensor: given, or of some shape and the tree of its elements, or the states of a
    recurrence."""

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...] = ()
    body: Node | None = None
    is_integer: bool = False
    limit: int = 0  # of integers: what they are less than
    states: tuple[str, ...] = ()  # of a recurrence: where they begin; `body` has a value for each
    shown: int = 0  # which of them this tensor is


@dataclass
class Program:
    """Definitions, each of those before it; the last one is the result."""

    tensors: list[Definition] = field(default_factory=list)

    @property
    def inputs(self) -> list[Definition]:
        """Those that are given."""
        return [one for one in self.tensors if one.body is None]


class Writer:
    """Makes a program of random numbers; `size` bounds how many definitions it has, and how deep
    they are."""

    def __init__(self, seed: int, size: int = 2) -> None:
        self.random, self.size = np.random.default_rng(seed), size
        self.program = Program()
        self._count = 0
        self._states = 0  # of the recurrence that is written

    def written(self) -> Program:
        """A program."""
        for k in range(self._less(2) + 1):
            self.program.tensors.append(Definition(f"x{k}", self._shape()))
        if self._chance(0.25):
            limit = 1 + self._less(4)
            rows = Definition("rows", (1 + self._less(5),), is_integer=True, limit=limit)
            self.program.tensors.append(rows)
        for k in range(1 + self._less(self.size)):
            write = self._recurrence if self._chance(0.15) else self._definition
            self.program.tensors.append(write(f"y{k}"))
        return self.program

    def _less(self, count: int) -> int:
        return int(self.random.integers(count))

    def _chance(self, part: float) -> bool:
        return bool(self.random.random() < part)

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[self._less(len(choices))]

    def _shape(self) -> tuple[int, ...]:
        return tuple(1 + self._less(5) for _ in range(self._less(3) + 1))

    def _definition(self, name: str) -> Definition:
        shape = self._shape() if self._chance(0.85) else ()
        axes = {f"i{k}": extent for k, extent in enumerate(shape)}
        return Definition(name, shape, tuple(axes), self._value(axes, self.size))

    def _recurrence(self, name: str) -> Definition:
        known = [one for one in self.program.tensors if not one.is_integer and len(one.shape) < 4]
        first = self._one(known)
        alike = [one.name for one in known if one.shape == first.shape]
        states = tuple(self._one(alike) for _ in range(1 + self._less(2)))
        length = 1 + self._less(4)
        axes = {f"i{k}": extent for k, extent in enumerate(first.shape)}
        self._states = len(states)
        body = tuple(self._next_state(number, axes, length) for number in range(len(states)))
        self._states = 0
        shape = (length + 1, *first.shape)
        return Definition(name, shape, tuple(axes), body, False, 0, states, self._less(len(states)))

    def _next_state(self, number: int, axes: Mapping[str, int], length: int) -> Node:
        """What behaves, of the state itself and of anything."""
        own: Node = ("state", number, tuple(("axis", name) for name in axes))
        other = self._value({**axes, "t": length}, self._less(2))
        kept = ("mul", ("number", 0.5), own)
        return (self._one(["add", "sub", "max", "mul"]), kept, ("function", "tanh", other))

    def _value(self, axes: Mapping[str, int], depth: int) -> Node:
        """A number at a point."""
        kinds = ["read"] * (4 if depth else 1) + ["two", "function", "select", "reduce", "two"]
        kind = self._one(kinds) if depth else "read"
        if kind == "two":
            name = self._one(["add", "sub", "mul", "max", "min"])
            return (name, self._value(axes, depth - 1), self._value(axes, depth - 1))
        if kind == "function":
            return ("function", self._one(FUNCTIONS), self._value(axes, depth - 1))
        if kind == "select":
            then, other = (self._value(axes, depth - 1) for _ in range(2))
            return ("select", self._condition(axes, depth), then, other)
        if kind == "reduce" and len(axes) < 5:
            return self._reduction(axes, depth)
        return self._read(axes)

    def _reduction(self, axes: Mapping[str, int], depth: int) -> Node:
        own = {}
        for _ in range(1 + self._chance(0.4)):
            self._count += 1
            own[f"k{self._count}"] = 1 + self._less(4)
        inside = {**axes, **own}
        kind = self._one(["sum", "sum", "sum", "prod", "max", "min", "joined", "pairs"])
        where = self._condition(inside, 0) if self._chance(0.3) else None
        init = self._value(axes, 0) if self._chance(0.2) or where is not None else None
        values = [self._value(inside, depth - 1) for _ in range(2 if kind == "pairs" else 1)]
        return ("reduce", kind, own, tuple(values), where, init)

    def _condition(self, axes: Mapping[str, int], depth: int) -> Node:
        if depth and self._chance(0.3):
            return ("lt", self._value(axes, 0), self._value(axes, 0))
        left, right = (self._sum(axes)[0] for _ in range(2))
        return ("lt", left, right)

    def _read(self, axes: Mapping[str, int]) -> Node:
        if self._states and self._chance(0.3):
            names = [name for name in axes if name[0] == "i"]
            at = tuple(("axis", name) for name in names)
            if at and self._chance(0.2):  # of another element
                at = (("mod", ("add", at[0], ("integer", 1)), ("integer", axes["i0"])), *at[1:])
            return ("state", self._less(self._states), at)
        known = [one for one in self.program.tensors if not one.is_integer]
        one = self._one(known)
        made = [self._index(axes, extent) for extent in one.shape]
        read: Node = ("read", one.name, tuple(index for index, _ in made))
        guards = [guard for _, guard in made if guard is not None]
        if not guards:
            return read
        holds = guards[0]
        for guard in guards[1:]:
            holds = ("and", holds, guard)
        return ("select", holds, read, ("number", 0.5))

    def _sum(self, axes: Mapping[str, int]) -> tuple[Node, int, int]:
        """A sum of indices, and the least and the greatest that it is."""
        low = high = self._less(7) - 3
        total: Node = ("integer", low)
        for name in self._some(list(axes)):
            factor = self._one([1, 1, 1, -1, 2, 3, -2])
            total = ("add", total, ("mul", ("integer", factor), ("axis", name)))
            ends = sorted((0, factor * (axes[name] - 1)))
            low, high = low + ends[0], high + ends[1]
        rows = [one for one in self.program.tensors if one.is_integer]
        if rows and self._chance(0.15):
            at, guard = self._index(axes, rows[0].shape[0])
            if guard is None:
                total, high = ("add", total, ("read", "rows", (at,))), high + rows[0].limit - 1
        if self._chance(0.2):
            divisor = 2 + self._less(3)
            return ("floordiv", total, ("integer", divisor)), low // divisor, high // divisor
        return total, low, high

    def _some(self, names: list[str]) -> list[str]:
        return [name for name in names if self._chance(0.6)]

    def _index(self, axes: Mapping[str, int], extent: int) -> tuple[Node, Node | None]:
        """An index within an axis, and where it is none but under a condition, that."""
        fitting = [name for name, own in axes.items() if own <= extent]
        if fitting and self._chance(0.4):
            return ("axis", self._one(fitting)), None
        rows = [one for one in self.program.tensors if one.is_integer and one.limit <= extent]
        if rows and self._chance(0.6):
            (at, guard) = self._index(axes, rows[0].shape[0])
            return ("read", "rows", (at,)), guard
        total, low, high = self._sum(axes)
        if low >= 0 and high < extent:
            return total, None
        way = self._less(4)
        if way == 0:
            return ("mod", total, ("integer", extent)), None
        clamped = ("min", ("max", total, ("integer", 0)), ("integer", extent - 1))
        never = high < 0 or low >= extent
        if way == 1 or never:
            return clamped, None
        inside = ("and", ("lt", ("integer", -1), total), ("lt", total, ("integer", extent)))
        return (total, inside) if way == 2 else (("select", inside, total, ("integer", 0)), None)
