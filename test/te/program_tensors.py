"""Random programs as tensors of `te`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te.random_programs import Definition, Node, Program

import mlirad as ti
from mlirad import te

FUNCTIONS = {
    "sin": te.sin,
    "tanh": te.tanh,
    "abs": te.abs,
    "root": lambda x: te.sqrt(x * x + 1.0),
    "neg": lambda x: -x,
}
OPERATIONS = {
    "add": lambda a, c: a + c,
    "sub": lambda a, c: a - c,
    "mul": lambda a, c: a * c,
    "floordiv": lambda a, c: a // c,
    "mod": lambda a, c: a % c,
    "lt": lambda a, c: a < c,
    "and": lambda a, c: a & c,
    "max": te.max,
    "min": te.min,
    "select": te.select,
}
JOINED = te.comm_reducer(lambda a, b: a + b + 0.25 * a * b, lambda dtype: 0.0, "joined")
PAIRS = te.comm_reducer(
    lambda a, b: (a[0] + b[0], a[1] + b[1] + 0.25 * a[0] * b[0]), lambda *_: (0.0, 0.0), "pairs"
)
REDUCTIONS = {"sum": te.sum, "prod": te.prod, "max": te.max, "min": te.min, "joined": JOINED}


class AsTensors:
    """A program as tensors of `te`; `symbols`: extents of inputs, and what is as long, are sizes
    that a call decides, whose names end so."""

    def __init__(self, program: Program, symbols: str = "") -> None:
        self.of: dict[str, te.Tensor] = {}
        known = {extent for one in program.inputs for extent in one.shape} if symbols else set()
        self._sizes = {extent: te.var(f"n{extent}{symbols}") for extent in known}
        self._before: Sequence[te.Tensor] = ()
        for one in program.tensors:
            self.of[one.name] = self._made(one)
        self.inputs = [self.of[one.name] for one in program.inputs]
        self.output = self.of[program.tensors[-1].name]

    def _extent(self, number: int) -> Any:
        return self._sizes.get(number, number)

    def _made(self, one: Definition) -> te.Tensor:
        shape = tuple(map(self._extent, one.shape))
        if one.body is None:
            return te.placeholder(shape, ti.i32 if one.is_integer else ti.f64, one.name)
        body = one.body
        if one.states:
            return self._recurrence(one, body)
        return te.compute(shape, lambda *at: self._value(body, dict(zip(one.axes, at))), one.name)

    def _recurrence(self, one: Definition, body: Node) -> te.Tensor:
        initial = [self.of[name] for name in one.states]

        def update(t: Any, before: Any, *at: Any) -> Any:
            self._before = [before] if len(initial) == 1 else before
            return [self._value(part, {"t": t, **dict(zip(one.axes, at))}) for part in body]

        found = te.scan(one.shape[0] - 1, initial if len(initial) > 1 else initial[0], update)
        return found[one.shown] if len(initial) > 1 else found

    def _value(self, node: Node, axes: Mapping[str, Any]) -> Any:
        kind, *parts = node
        if kind in ("number", "integer"):
            return te.cast(parts[0], ti.f64) if kind == "number" else parts[0]
        if kind == "axis":
            return axes[parts[0]]
        if kind in ("read", "state"):
            tensor = self.of[parts[0]] if kind == "read" else self._before[parts[0]]
            return tensor[tuple(self._value(index, axes) for index in parts[1])]
        if kind == "function":
            return FUNCTIONS[parts[0]](self._value(parts[1], axes))
        if kind == "reduce":
            return self._reduction(parts, axes)
        return OPERATIONS[kind](*[self._value(part, axes) for part in parts])

    def _reduction(self, parts: Sequence[Any], axes: Mapping[str, Any]) -> Any:
        kind, extents, body, where, init = parts
        own = {name: te.reduce_axis(self._extent(e), name) for name, e in extents.items()}
        inside = {**axes, **own}
        values = [self._value(one, inside) for one in body]
        keywords: dict[str, Any] = {"axis": tuple(own.values())}
        if where is not None:
            keywords["where"] = self._value(where, inside)
        first = None if init is None else self._value(init, axes)
        if kind == "pairs":
            return PAIRS(tuple(values), init=None if first is None else (first, 0.5), **keywords)[1]
        return REDUCTIONS[kind](values[0], init=first, **keywords)
