"""Random programs as arrays of NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from te.random_programs import Definition, Node, Program

Array = np.ndarray[Any, Any]
NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf, "joined": 0.0, "pairs": 0.0}
FUNCTIONS = {
    "sin": np.sin,
    "tanh": np.tanh,
    "abs": np.abs,
    "root": lambda x: np.sqrt(x * x + 1.0),
    "neg": np.negative,
}
OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "lt": np.less,
    "and": np.logical_and,
    "max": np.maximum,
    "min": np.minimum,
    "select": np.where,
}


class AsArrays:
    """A program as arrays of NumPy."""

    def __init__(self, program: Program, inputs: Sequence[Array]) -> None:
        self.of = dict(zip([one.name for one in program.inputs], inputs))
        self._before: Sequence[Array] = ()
        for one in program.tensors:
            if one.body is not None:
                made = self._recurrence if one.states else self._definition
                self.of[one.name] = made(one, one.body)
        self.output = self.of[program.tensors[-1].name]

    def _definition(self, one: Definition, body: Node) -> Array:
        return self._over(one.shape, one.axes, body, {})

    def _over(
        self, shape: Sequence[int], names: Sequence[str], body: Node, more: Mapping[str, int]
    ) -> Array:
        axes = dict(zip(names, np.meshgrid(*map(np.arange, shape), indexing="ij")))
        axes |= {name: np.full(shape, value) for name, value in more.items()}
        return np.broadcast_to(self._value(body, axes), shape).astype(float)

    def _recurrence(self, one: Definition, body: Node) -> Array:
        self._before = [self.of[name] for name in one.states]
        found = [self._before[one.shown]]
        for t in range(one.shape[0] - 1):
            self._before = [self._over(one.shape[1:], one.axes, part, {"t": t}) for part in body]
            found.append(self._before[one.shown])
        return np.stack(found)

    def _value(self, node: Node, axes: Mapping[str, Array]) -> Any:
        kind, *parts = node
        if kind in ("number", "integer"):
            return np.asarray(parts[0])
        if kind == "axis":
            return axes[parts[0]]
        if kind in ("read", "state"):
            array = self.of[parts[0]] if kind == "read" else self._before[parts[0]]
            at = [self._value(index, axes) for index in parts[1]]
            return array[tuple(np.clip(i, 0, extent - 1) for i, extent in zip(at, array.shape))]
        if kind == "function":
            return FUNCTIONS[parts[0]](self._value(parts[1], axes))
        if kind == "reduce":
            return self._reduction(parts, axes)
        return OPERATIONS[kind](*[self._value(part, axes) for part in parts])

    def _reduction(self, parts: Sequence[Any], axes: Mapping[str, Array]) -> Array:
        kind, extents, body, where, init = parts
        outer = np.broadcast_shapes(*(one.shape for one in axes.values()))
        count = len(extents)
        inside = {name: one[(..., *[None] * count)] for name, one in axes.items()}
        for number, (name, extent) in enumerate(extents.items()):
            inside[name] = np.arange(extent).reshape([-1] + [1] * (count - 1 - number))
        shape = (*outer, *extents.values())
        values = [np.broadcast_to(self._value(one, inside), shape) for one in body]
        if where is not None:
            holds = self._value(where, inside)
            values = [np.where(holds, value, NEUTRAL[kind]) for value in values]
        flat = [value.reshape((*outer, -1)) for value in values]
        return _reduced(kind, flat, None if init is None else self._value(init, axes))


def _reduced(kind: str, flat: Sequence[Array], init: Array | None) -> Array:
    """Along the last axis; what `init` is counts, too."""
    first = NEUTRAL[kind] if init is None else init
    if kind == "joined":
        return (np.prod(1 + 0.25 * flat[0], axis=-1) * (1 + 0.25 * first) - 1) / 0.25
    if kind == "pairs":  # the sum of products of all pairs
        total = flat[0].sum(-1)
        products = (total**2 - (flat[0] ** 2).sum(-1)) / 2
        begun = 0.0 if init is None else 0.5
        return begun + flat[1].sum(-1) + 0.25 * (products + first * total)
    function = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    found: Array = function(function.reduce(flat[0], axis=-1), first)
    return found
