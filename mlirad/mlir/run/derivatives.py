"""Derivatives of a function on arrays, and differences that check them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.ad import jvp, vjp
from mlirad.lang.ndarray import Ndarray
from mlirad.mlir.function import MlirFunction
from mlirad.mlir.run.comparison import STEPS, Comparison
from mlirad.runtime.memory.values import Values
from mlirad.types import from_numpy

DIRECTIONS = 3  # of an argument that differences are taken along


class Program:
    """A function, run on copies of its arguments of floats, which it may write to.

    Its outputs are its results of floats, then what it leaves in those arguments.
    """

    def __init__(self, function: MlirFunction, arguments: Sequence[Values | int]) -> None:
        self.function, self.arguments = function, list(arguments)
        self.active = [
            number for number, p in enumerate(function.arguments) if p.is_array and p.dtype.is_float
        ]
        self.inputs = [_ndarray(self._values(number)) for number in self.active]
        self.working = [_ndarray(self._values(number)) for number in self.active]
        sizes = function.result_shapes(arguments)
        self.results = [
            Ndarray(p.dtype, shape, (), p.dtype.is_float)
            for p, shape in zip(function.results, sizes)
        ]
        self.outputs = [r for r in self.results if r.dtype.is_float] + self.working
        self.state = [(v, v.copy()) for p in function.parameters if (v := p.value) is not None]

    def _values(self, number: int) -> Values:
        return np.asarray(self.arguments[number])

    def run(self) -> None:
        """Run the function once, from the same state of the module."""
        for values, start in self.state:
            values[...] = start
        for source, target in zip(self.inputs, self.working):
            target.copy_from(source)
        passed: list[Any] = [
            value if isinstance(value, int) else value.copy() for value in self.arguments
        ]
        for number, array in zip(self.active, self.working):
            passed[number] = array
        self.function(*passed, out=self.results if self.results else None)

    def outputs_of(self, inputs: Sequence[Values]) -> list[Values]:
        """Return what is left in the outputs, of these inputs."""
        for array, values in zip(self.inputs, inputs):
            array.from_numpy(values)
        self.run()
        return [array.to_numpy().astype(np.float64) for array in self.outputs]

    def gradients(self, heads: Sequence[Values]) -> list[Values]:
        """Return the adjoints of the arguments of floats, by those of the outputs."""
        reverse = vjp(self.run, inputs=self.inputs, output=self.outputs)
        _, adjoints = reverse(*map(self._values, self.active), adjoint=tuple(heads))
        return list(adjoints)

    def tangents(self, directions: Sequence[Values]) -> list[Values]:
        """Return the tangents of the outputs, by those of the arguments of floats."""
        forward = jvp(self.run, inputs=self.inputs, output=self.outputs)
        _, tangents = forward(*map(self._values, self.active), tangent=tuple(directions))
        return list(tangents)

    def heads(self) -> list[Values]:
        """Return ones for the results, or for what is left in the arguments if there are none."""
        count = len(self.outputs) - len(self.working)
        return [
            np.full(output.shape, (k < count) or not count, output.dtype.numpy)
            for k, output in enumerate(self.outputs)
        ]

    def compare(self, seed: int) -> list[Comparison]:
        """Compare derivatives along random directions with central differences."""
        generator = np.random.default_rng(seed)
        heads = [_random(generator, output) for output in self.outputs]
        gradients = self.gradients(heads)
        return [
            self._compare(position, _random(generator, self.inputs[position]), heads, gradients)
            for position in range(len(self.active))
            for _ in range(DIRECTIONS)
        ]

    def _compare(
        self,
        position: int,
        direction: Values,
        heads: Sequence[Values],
        gradients: Sequence[Values],
    ) -> Comparison:
        reverse = float(np.vdot(gradients[position].astype(np.float64), direction))
        directions = [np.zeros(array.shape, array.dtype.numpy) for array in self.inputs]
        directions[position] = direction
        forward = _paired(heads, self.tangents(directions))
        steps, share = STEPS[direction.itemsize]
        differences = [self._difference(directions, step, heads) for step in steps]
        difference = min(differences, key=lambda value: abs(value - reverse))
        scale = max(abs(difference), abs(reverse), float(np.abs(direction).max(initial=0.0)))
        name = f"argument {self.active[position]}"
        return Comparison(name, reverse, forward, difference, share * max(scale, 1.0))

    def _difference(
        self, directions: Sequence[Values], step: float, heads: Sequence[Values]
    ) -> float:
        values = [self._values(number) for number in self.active]
        above, below = (
            self.outputs_of([v + v.dtype.type(sign * step) * d for v, d in zip(values, directions)])
            for sign in (1, -1)
        )
        return (_paired(heads, above) - _paired(heads, below)) / (2 * step)


def _paired(heads: Sequence[Values], outputs: Sequence[Values]) -> float:
    """Return the sum of products of adjoints and values."""
    return sum(
        float(np.vdot(head.astype(np.float64), np.asarray(output, np.float64)))
        for head, output in zip(heads, outputs)
    )


def _ndarray(values: Values) -> Ndarray:
    array = Ndarray(from_numpy(values.dtype), values.shape, (), True)
    array.from_numpy(values)
    return array


def _random(generator: np.random.Generator, array: Ndarray) -> Values:
    return np.asarray(generator.uniform(-1, 1, array.shape), array.dtype.numpy)
