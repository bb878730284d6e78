"""The shared part of the programs for several ranks: a loss, its gradient, and the descent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlirad as ti
from mlirad import dist

Array = NDArray[np.float64]


class Fitted:
    """A program whose parameters are found by gradients; those are known in rank 0."""

    loss: Any
    rate: float
    iterations: int

    def run(self) -> None:
        """Compute the loss, in rank 0."""
        raise NotImplementedError

    def parameters(self) -> Array | None:
        """Return all parameters, in rank 0."""
        raise NotImplementedError

    def set_parameters(self, values: Array | None) -> None:
        """Set them to those of rank 0."""
        raise NotImplementedError

    def gathered_gradient(self) -> Array | None:
        """The gradient, in rank 0."""
        raise NotImplementedError

    def gradient(self) -> tuple[float, Array | None]:
        """The loss and its gradient."""
        with ti.ad.Tape(self.loss):
            self.run()
        return float(self.loss[None]), self.gathered_gradient()

    def fit(self, iterations: int) -> list[float]:
        """Adam, in rank 0 (Kingma and Ba 2015); the losses."""
        losses: list[float] = []
        first: Any = 0.0
        second: Any = 0.0
        for number in range(1, iterations + 1):
            loss, gradient = self.gradient()
            losses.append(loss)
            values = self.parameters()
            if values is not None and gradient is not None:
                first = 0.9 * first + 0.1 * gradient
                second = 0.999 * second + 0.001 * gradient**2
                step = first / (1 - 0.9**number)
                values = values - self.rate * step / (np.sqrt(second / (1 - 0.999**number)) + 1e-12)
            self.set_parameters(values)
        return losses


def main(kind: Callable[[], Fitted], arguments: Sequence[str]) -> int:
    """Run the command line of a program, and return the exit status."""
    module = sys.modules[kind.__module__]
    parser = argparse.ArgumentParser(
        prog=f"python -m mlirad.examples.ranks.{Path(module.__file__ or '').stem}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="write the first gradient, followed by the loss, to this .npy file instead of fitting "
        "(default: fit, and print the first and the last loss)",
    )
    file = parser.parse_args(arguments).file
    dist.init(arch=ti.cpu, default_fp=ti.f64)
    program = kind()
    if file is not None:
        loss, gradient = program.gradient()
        if gradient is not None:
            np.save(file, np.append(gradient.reshape(-1), loss))
        return 0
    losses = program.fit(program.iterations)
    if dist.rank() == 0:
        print(f"{dist.size()} ranks: loss {losses[0]:.4g} -> {losses[-1]:.4g}")
    return 0


def run(kind: Callable[[], Fitted]) -> None:
    """The command line of a program."""
    raise SystemExit(main(kind, sys.argv[1:]))
