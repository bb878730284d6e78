"""What the ten simulators share: their shape, the training with a progress bar, the command
line."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tqdm import tqdm

import mlirad as ti
from mlirad.examples.pictures import Picture, save


class Comparison(msgspec.Struct, frozen=True):
    """A figure of a simulation beside what it must be."""

    name: str
    value: float
    expected: float
    tolerance: float  # how far apart they may be

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.8g}, known {self.expected:.8g}"


class Simulator:
    """A system that steps through time, and fields that are trained to make its loss small."""

    steps: int
    loss: Any
    parameters: Sequence[Any]  # scalar fields
    rate: float  # of Adam
    iterations: int
    best_frame = -1  # which of ten frames says most

    def __init__(self, small: bool = False) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        """The state at the start, from the parameters."""
        raise NotImplementedError

    def step(self, number: int) -> None:
        """The next state, in place of the last or behind it."""
        raise NotImplementedError

    def finish(self) -> None:
        """The loss, from what the steps have left."""
        raise NotImplementedError

    def over(self) -> Iterable[int]:
        """The numbers of the steps; `ti.ad.checkpointed`, where memory asks for it."""
        return range(self.steps)

    def picture(self, size: int, number: int) -> Picture:
        """The state after so many steps."""
        raise NotImplementedError

    def verify(self) -> Comparison:
        """Run, and return a figure beside what theory says it is."""
        raise NotImplementedError

    def run(self) -> None:
        """From the parameters to the loss."""
        self.begin()
        for number in self.over():
            self.step(number)
        self.finish()

    def frames(self, size: int, count: int) -> list[Picture]:
        """Pictures of a run, at even distances, the last state among them."""
        self.begin()
        pictures = []
        for number in range(self.steps):
            self.step(number)
            if (self.steps - 1 - number) % max(1, self.steps // count) == 0:
                pictures.append(self.picture(size, number + 1))
        return pictures


@ti.data_oriented
class Adam:
    """Descent by moments of the gradient (Kingma and Ba, ICLR 2015)."""

    def __init__(self, parameters: Sequence[Any], rate: float) -> None:
        self.parameters, self.rate, self.count = parameters, rate, 0
        self.moments = [
            (ti.field(float, field.shape), ti.field(float, field.shape)) for field in parameters
        ]

    @ti.kernel
    def move(
        self,
        parameter: ti.template,
        mean: ti.template,
        square: ti.template,
        number: int,
    ) -> None:
        """Move one field by a step."""
        for index in ti.grouped(parameter):
            slope = parameter.grad[index]
            mean[index] = 0.9 * mean[index] + 0.1 * slope
            square[index] = 0.99 * square[index] + 0.01 * slope**2
            root = ti.sqrt(square[index] / (1 - 0.99**number)) + 1e-12
            parameter[index] -= self.rate * mean[index] / (1 - 0.9**number) / root

    def step(self) -> None:
        """Move all parameters against their gradients."""
        self.count += 1
        for parameter, (mean, square) in zip(self.parameters, self.moments):
            self.move(parameter, mean, square, self.count)


def train(simulator: Simulator, iterations: int, name: str = "") -> list[float]:
    """Descend, with a progress bar; the losses, the last one that of the last parameters."""
    adam = Adam(simulator.parameters, simulator.rate)
    losses = []
    bar = tqdm(range(iterations), desc=name, unit="step")
    for _ in bar:
        with ti.ad.Tape(simulator.loss):
            simulator.run()
        losses.append(float(simulator.loss[None]))
        bar.set_postfix(loss=f"{losses[-1]:.4g}")
        adam.step()
    with ti.ad.Tape(simulator.loss):
        simulator.run()
    return [*losses, float(simulator.loss[None])]


def default_folder() -> Path:
    """The folder of the examples, or the current one where that cannot be written."""
    folder = Path(__file__).resolve().parent
    return folder if os.access(folder, os.W_OK) else Path.cwd()


def main(kind: type[Any], name: str, arguments: Sequence[str] | None = None) -> int:
    """The command line of a simulator; the exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m mlirad.examples {name}", description=kind.__doc__
    )
    parser.add_argument("--small", action="store_true", help="as small as in the tests")
    parser.add_argument("--iterations", type=int, help=f"steps of training ({kind.iterations})")
    parser.add_argument("--output", type=Path, help=f"the video (.gif) or picture ({name}.gif)")
    settings = parser.parse_args(arguments)
    iterations = kind.iterations if settings.iterations is None else settings.iterations
    if iterations < 1:
        parser.error("at least 1 iteration is needed")
    file = settings.output if settings.output is not None else default_folder() / f"{name}.gif"
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    simulator = kind(small=settings.small)
    started = time.perf_counter()
    losses = train(simulator, iterations, name)
    took = time.perf_counter() - started
    print((kind.__doc__ or name).splitlines()[0])
    print(f"loss {losses[0]:.6g} -> {losses[-1]:.6g} in {iterations} steps, {took:.1f} s")
    save(simulator.frames(64 if settings.small else 320, 60), file)
    print(simulator.verify())
    print(f"video: {file}")
    return 0
