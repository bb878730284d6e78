"""Random programs of tensor expressions, and what NumPy computes for them.

A program is a tree of tuples, which is read in two ways: as expressions of `te`, and as arrays over
all points at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mlirad as ti
from mlirad import te

Node = tuple[Any, ...]
Array = np.ndarray[Any, Any]
NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf, "joined": 0.0}
FUNCTIONS = {
    "sin": (te.sin, np.sin),
    "tanh": (te.tanh, np.tanh),
    "abs": (te.abs, np.abs),
    "root": (lambda x: te.sqrt(x * x + 1.0), lambda x: np.sqrt(x * x + 1.0)),
    "neg": (lambda x: -x, np.negative),
}
ALIKE = {
    "add": lambda a, c: a + c,
    "sub": lambda a, c: a - c,
    "mul": lambda a, c: a * c,
    "floordiv": lambda a, c: a // c,
    "mod": lambda a, c: a % c,
    "lt": lambda a, c: a < c,
    "and": lambda a, c: a & c,
}
JOINED = te.comm_reducer(lambda a, b: a + b + 0.25 * a * b, lambda dtype: 0.0, "joined")


@dataclass
class Definition:
    """A tensor: given, or of some shape and the tree of its elements."""

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...] = ()
    body: Node | None = None
    is_integer: bool = False
    limit: int = 0  # of integers: what they are less than


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

    def written(self) -> Program:
        """A program."""
        for k in range(self._less(2) + 1):
            self.program.tensors.append(Definition(f"x{k}", self._shape()))
        if self._chance(0.25):
            limit = 1 + self._less(4)
            rows = Definition("rows", (1 + self._less(5),), is_integer=True, limit=limit)
            self.program.tensors.append(rows)
        for k in range(1 + self._less(self.size)):
            self.program.tensors.append(self._definition(f"y{k}"))
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

    def _value(self, axes: Mapping[str, int], depth: int) -> Node:
        """A number at a point."""
        kinds = ["read"] * (4 if depth else 1) + ["two", "function", "select", "reduce", "two"]
        kind = self._one(kinds) if depth else "read"
        if kind == "two":
            name = self._one(["add", "sub", "mul", "max", "min"])
            return (name, self._value(axes, depth - 1), self._value(axes, depth - 1))
        if kind == "function":
            return ("function", self._one(list(FUNCTIONS)), self._value(axes, depth - 1))
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
        kind = self._one(["sum", "sum", "sum", "prod", "max", "min", "joined"])
        where = self._condition(inside, 0) if self._chance(0.3) else None
        init = self._value(axes, 0) if self._chance(0.2) or where is not None else None
        return ("reduce", kind, own, self._value(inside, depth - 1), where, init)

    def _condition(self, axes: Mapping[str, int], depth: int) -> Node:
        if depth and self._chance(0.3):
            return ("lt", self._value(axes, 0), self._value(axes, 0))
        left, right = (self._sum(axes)[0] for _ in range(2))
        return ("lt", left, right)

    def _read(self, axes: Mapping[str, int]) -> Node:
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


class AsTensors:
    """A program as tensors of `te`."""

    def __init__(self, program: Program) -> None:
        self.of: dict[str, te.Tensor] = {}
        for one in program.tensors:
            self.of[one.name] = self._made(one)
        self.inputs = [self.of[one.name] for one in program.inputs]
        self.output = self.of[program.tensors[-1].name]

    def _made(self, one: Definition) -> te.Tensor:
        if one.body is None:
            return te.placeholder(one.shape, ti.i32 if one.is_integer else ti.f64, one.name)
        body = one.body
        return te.compute(
            one.shape, lambda *at: self._value(body, dict(zip(one.axes, at))), one.name
        )

    def _value(self, node: Node, axes: Mapping[str, Any]) -> Any:
        kind, *parts = node
        if kind in ("number", "integer"):
            return te.cast(parts[0], ti.f64) if kind == "number" else parts[0]
        if kind == "axis":
            return axes[parts[0]]
        if kind == "read":
            return self.of[parts[0]][tuple(self._value(index, axes) for index in parts[1])]
        if kind == "function":
            return FUNCTIONS[parts[0]][0](self._value(parts[1], axes))
        if kind == "reduce":
            return self._reduction(parts, axes)
        values = [self._value(part, axes) for part in parts]
        if kind == "select":
            return te.select(*values)
        return {"max": te.max, "min": te.min}.get(kind, ALIKE.get(kind))(*values)  # type: ignore[misc]

    def _reduction(self, parts: Sequence[Any], axes: Mapping[str, Any]) -> Any:
        kind, extents, body, where, init = parts
        own = {name: te.reduce_axis(extent, name) for name, extent in extents.items()}
        inside = {**axes, **own}
        functions = {"sum": te.sum, "prod": te.prod, "max": te.max, "min": te.min, "joined": JOINED}
        return functions[kind](
            self._value(body, inside),
            axis=tuple(own.values()),
            where=None if where is None else self._value(where, inside),
            init=None if init is None else self._value(init, axes),
        )


class AsArrays:
    """A program as arrays of NumPy."""

    def __init__(self, program: Program, inputs: Sequence[Array]) -> None:
        self.of = dict(zip([one.name for one in program.inputs], inputs))
        for one in program.tensors:
            if one.body is not None:
                grid = np.meshgrid(*map(np.arange, one.shape), indexing="ij")
                value = self._value(one.body, dict(zip(one.axes, grid)))
                self.of[one.name] = np.broadcast_to(value, one.shape).astype(float)
        self.output = self.of[program.tensors[-1].name]

    def _value(self, node: Node, axes: Mapping[str, Array]) -> Any:
        kind, *parts = node
        if kind in ("number", "integer"):
            return np.asarray(parts[0])
        if kind == "axis":
            return axes[parts[0]]
        if kind == "read":
            array = self.of[parts[0]]
            at = [self._value(index, axes) for index in parts[1]]
            return array[tuple(np.clip(i, 0, extent - 1) for i, extent in zip(at, array.shape))]
        if kind == "function":
            return FUNCTIONS[parts[0]][1](self._value(parts[1], axes))
        if kind == "reduce":
            return self._reduction(parts, axes)
        values = [self._value(part, axes) for part in parts]
        if kind == "select":
            return np.where(*values)
        return {"max": np.maximum, "min": np.minimum}.get(kind, ALIKE.get(kind))(*values)  # type: ignore[misc]

    def _reduction(self, parts: Sequence[Any], axes: Mapping[str, Array]) -> Array:
        kind, extents, body, where, init = parts
        outer = np.broadcast_shapes(*(one.shape for one in axes.values()))
        count = len(extents)
        inside = {name: one[(..., *[None] * count)] for name, one in axes.items()}
        for number, (name, extent) in enumerate(extents.items()):
            inside[name] = np.arange(extent).reshape([-1] + [1] * (count - 1 - number))
        shape = (*outer, *extents.values())
        values = np.broadcast_to(self._value(body, inside), shape)
        if where is not None:
            values = np.where(self._value(where, inside), values, NEUTRAL[kind])
        flat = values.reshape((*outer, -1))
        first = NEUTRAL[kind] if init is None else self._value(init, axes)
        if kind == "joined":
            return (np.prod(1 + 0.25 * flat, axis=-1) * (1 + 0.25 * first) - 1) / 0.25
        function = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
        return function(function.reduce(flat, axis=-1), first)
