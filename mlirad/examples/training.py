"""Base of the ten simulators: the shape of their class, and the training with a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import mlirad as ti
from mlirad.examples.pictures import Picture

Values = list[NDArray[np.float64]]  # of all parameters


class Comparison(msgspec.Struct, frozen=True):
    """A figure of a simulation beside what it must be."""

    name: str
    value: float
    expected: float
    tolerance: float  # how far apart they may be

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.8g}, known {self.expected:.8g}"


class Outcome(msgspec.Struct, frozen=True):
    """The achievement of a run, in units that a person understands."""

    text: str  # with `{}` in the place of the figure
    value: float
    digits: int = 2  # behind the point

    @property
    def figure(self) -> str:
        """The value, rounded."""
        return f"{round(self.value, self.digits) + 0.0:.{self.digits}f}"  # not -0.00

    def __str__(self) -> str:
        return self.text.format(self.figure)


class Simulator:
    """A system that steps through time, and fields that are trained to make its loss small."""

    steps: int
    loss: Any
    parameters: Sequence[Any]  # scalar fields
    rate: float  # of Adam
    iterations: int
    best_frame = -1  # which of ten frames says most
    visible = 1.0  # the part of the height, from below, that videos show

    def __init__(self, small: bool = False) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        """Set the state at the start from the parameters."""
        raise NotImplementedError

    def step(self, number: int) -> None:
        """Compute the next state, in place or behind the last one."""
        raise NotImplementedError

    def finish(self) -> None:
        """Compute the loss from the states."""
        raise NotImplementedError

    def over(self) -> Iterable[int]:
        """Return the numbers of the steps; by `ti.ad.checkpointed` if memory is short."""
        return range(self.steps)

    def picture(self, size: int, number: int) -> Picture:
        """Return a picture of the state after so many steps, and of the target."""
        raise NotImplementedError

    def outcome(self) -> Outcome:
        """Return what the last run achieved."""
        raise NotImplementedError

    def verify(self) -> Comparison:
        """Run, and return a figure beside what theory says it is."""
        raise NotImplementedError

    def run(self) -> None:
        """Go from the parameters to the loss."""
        self.begin()
        for number in self.over():
            self.step(number)
        self.finish()

    def frames(self, size: int, count: int, title: str = "") -> list[Picture]:
        """Return pictures of a run, at even distances, the last state among them. A title shows a
        progress bar."""
        self.begin()
        pictures = []
        for number in tqdm(range(self.steps), desc=title, unit="step", disable=not title):
            self.step(number)
            if (self.steps - 1 - number) % max(1, self.steps // count) == 0:
                pictures.append(self.picture(size, number + 1))
        return pictures

    def values(self) -> Values:
        """Return copies of the parameters."""
        return [field.to_numpy() for field in self.parameters]

    def set_values(self, values: Values) -> None:
        """Write copies of parameters back."""
        for field, value in zip(self.parameters, values):
            field.from_numpy(value)


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


class Training(msgspec.Struct):
    """The losses of a training, and the parameters that led to each."""

    losses: list[float]
    parameters: list[Values]

    def record(self, simulator: Simulator) -> None:
        """Add the loss of a run, and its parameters."""
        self.losses.append(float(simulator.loss[None]))
        self.parameters.append(simulator.values())

    @property
    def best(self) -> int:
        """The number of steps after which the loss is least."""
        return int(np.argmin(self.losses))

    def number_at(self, stage: float) -> int:
        """Return a number of steps for a stage, from 0 (untrained) to 1 (best); early steps, when
        much is learned, have later stages."""
        return round(self.best * stage**2)


def train(simulator: Simulator, iterations: int, name: str = "") -> Training:
    """Descend, and return the losses and parameters before and after each step. A name shows a
    progress bar."""
    adam, training = Adam(simulator.parameters, simulator.rate), Training([], [])
    bar = tqdm(range(iterations + 1), desc="compiling", unit="step", disable=not name)
    for number in bar:
        with ti.ad.Tape(simulator.loss):
            simulator.run()
        training.record(simulator)
        bar.set_description(name)
        bar.set_postfix(loss=f"{training.losses[-1]:.4g}")
        if number < iterations:
            adam.step()
    return training
