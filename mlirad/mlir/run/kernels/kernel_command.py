"""Runs of a kernel of a module of whatever stage, and of its derivatives."""

from __future__ import annotations

import time

import numpy as np

from mlirad.bindings import ir
from mlirad.mlir.run.comparison import STEPS, Comparison, Distance, distance
from mlirad.mlir.run.kernels.entry import copied
from mlirad.mlir.run.kernels.kernel_derivatives import KernelDerivatives, LoweredError
from mlirad.mlir.run.kernels.kernel_run import Inputs, KernelRun
from mlirad.mlir.run.options import Options
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program

DIRECTIONS, ROUNDS = 3, 5


class KernelCommand:
    """A kernel with the values of its arguments and fields. Raises TaichiRuntimeTypeError, with the
    line, if these do not fit."""

    def __init__(self, module: ir.Module, options: Options) -> None:
        self._module, self._options = copied(module), options
        self._run = KernelRun(
            module,
            options.entry,
            options.file,
            program(),
            optimize=options.optimize,
            bounds=options.check,
        )
        self._inputs = self._run.inputs(options.values, options.fields)

    def outputs(self) -> dict[str, Values]:
        """Run it; the results, and the fields and arrays that changed."""
        before, after = self._run.start(self._inputs), self._run.run(self._inputs)
        return {
            name: array
            for name, array in after.items()
            if name not in before or before[name].tobytes() != array.tobytes()
        }

    def gradients(self) -> dict[str, Values]:
        """Return the gradients of the sum of all that it left in the arrays that it changed."""
        derivatives, changed = self._derivatives(), self.outputs()
        start = self._run.start(self._inputs)
        heads = {n: np.full_like(start[n], n in changed) for n in derivatives.active()}
        return {
            f"gradient {name}": array
            for name, array in derivatives.gradients(self._inputs, heads).items()
            if array.any()
        }

    def compare(self, seed: int) -> list[Comparison]:
        """Compare all derivatives with differences."""
        derivatives = self._derivatives()
        return KernelCheck(derivatives, self._inputs, seed).comparisons()

    def seconds(self) -> float:
        """Return how long a run takes, with what sets its memory."""
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            self._run.run(self._inputs)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    def distances(self, other: KernelCommand) -> list[Distance]:
        """Compare what two kernels compute: primal, and reverse and forward if neither is lowered
        yet."""
        runs = [command._run.run(command._inputs) for command in (self, other)]
        distances = [distance("primal", *runs)]
        try:
            kernels = [self._derivatives(), other._derivatives()]
        except LoweredError:
            return distances
        base = kernels[1]
        generator = np.random.default_rng(self._options.seed)
        start = base.primal.start(other._inputs)
        seeds = {n: _random(generator, start[n]) for n in base.active()}
        inputs = self._inputs, other._inputs
        reverses = [d.gradients(g, seeds) for d, g in zip(kernels, inputs)]
        forwards = [d.tangents(g, seeds) for d, g in zip(kernels, inputs)]
        return [*distances, distance("reverse", *reverses), distance("forward", *forwards)]

    def _derivatives(self) -> KernelDerivatives:
        options = self._options
        return KernelDerivatives(copied(self._module), options.entry, options.file, program())


class KernelCheck:
    """Derivatives of a kernel, and differences, from one state."""

    def __init__(self, derivatives: KernelDerivatives, inputs: Inputs, seed: int) -> None:
        self._derivatives, self._inputs = derivatives, inputs
        self._generator = np.random.default_rng(seed)
        self._start = derivatives.primal.start(inputs)
        self._active = [n for n in derivatives.active() if self._start[n].size]
        self._heads = {n: self._random(n) for n in self._active}
        self._gradients = derivatives.gradients(inputs, self._heads)

    def comparisons(self) -> list[Comparison]:
        """Compare along some directions of each array."""
        return [self._compare(name) for name in self._active for _ in range(DIRECTIONS)]

    def _compare(self, name: str) -> Comparison:
        direction = self._random(name)
        directions = {
            n: direction if n == name else np.zeros_like(self._start[n]) for n in self._active
        }
        reverse = float(np.vdot(self._gradients[name].astype(np.float64), direction))
        forward = self._paired(self._derivatives.tangents(self._inputs, directions))
        steps, share = STEPS[direction.itemsize]
        differences = [self._difference(name, direction, step) for step in steps]
        difference = min(differences, key=lambda value: abs(value - reverse))
        scale = max(abs(difference), abs(reverse), float(np.abs(direction).max(initial=0.0)), 1.0)
        return Comparison(name, reverse, forward, difference, share * scale)

    def _difference(self, name: str, direction: Values, step: float) -> float:
        above, below = (
            self._paired(self._derivatives.primal.run(self._moved(name, direction, sign * step)))
            for sign in (1, -1)
        )
        return (above - below) / (2 * step)

    def _moved(self, name: str, direction: Values, step: float) -> Inputs:
        moved = self._start[name] + direction.dtype.type(step) * direction
        return self._inputs.at(self._start | {name: moved}, {})

    def _paired(self, outputs: dict[str, Values]) -> float:
        """Return the sum of products of adjoints and values."""
        return sum(
            float(np.vdot(head.astype(np.float64), outputs[name].astype(np.float64)))
            for name, head in self._heads.items()
        )

    def _random(self, name: str) -> Values:
        return _random(self._generator, self._start[name])


def _random(generator: np.random.Generator, array: Values) -> Values:
    return np.asarray(generator.uniform(-1, 1, array.shape), array.dtype)
