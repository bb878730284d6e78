"""Runs of a function on arrays that anyone wrote, and of its derivatives."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError, located
from mlirad.mlir.function import MlirFunction
from mlirad.mlir.run.comparison import Comparison
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.values import Slot, value_of
from mlirad.runtime.memory.values import Values

ROUNDS = 5  # of `--time`, of which the fastest counts


class FunctionCommand:
    """A function with the values of its arguments. Raises TaichiRuntimeTypeError, with the line, if
    these do not fit."""

    def __init__(self, function: MlirFunction, texts: Sequence[str]) -> None:
        self.function = function
        count = len(function.arguments)
        if len(texts) != count:
            problem = f"@{function.__name__} takes {count} arguments, got {len(texts)}"
            raise TaichiRuntimeTypeError(
                located(problem, function.line) if function.line else problem
            )
        self.values = [
            value_of(text, Slot(f"argument {number}", p.dtype, p.shape, function.line))
            for number, (text, p) in enumerate(zip(texts, function.arguments))
        ]

    def outputs(self) -> dict[str, Values]:
        """Run the function on copies; the results, and the arrays that changed."""
        copies = self._copies()
        results = self.function(*copies)
        listed = results if isinstance(results, list) else [] if results is None else [results]
        outputs = {f"result {number}": array for number, array in enumerate(listed)}
        for number, (value, copy) in enumerate(zip(self.values, copies)):
            if isinstance(copy, np.ndarray) and np.asarray(value).tobytes() != copy.tobytes():
                outputs[f"argument {number}"] = copy
        return outputs

    def gradients(self) -> dict[str, Values]:
        """Return the gradients of the sum of all results."""
        program = Program(self.function, self.values)
        gradients = program.gradients(program.heads())
        return {f"gradient {k}": g for k, g in zip(program.active, gradients)}

    def compare(self, seed: int) -> list[Comparison]:
        """Compare all derivatives with differences."""
        return Program(self.function, self.values).compare(seed)

    def seconds(self) -> float:
        """Return how long a run takes."""
        seconds = []
        for _ in range(ROUNDS):
            copies = self._copies()
            start = time.perf_counter()
            self.function(*copies)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    def _copies(self) -> list[Values | int]:
        return [value.copy() if isinstance(value, np.ndarray) else value for value in self.values]
