"""Release a drum so that its waves form an image.

    python -m mlirad.examples wave

The wave equation on a square with a fixed rim is integrated in place. It is linear, so a gradient
through all steps saves nothing. The initial height of each cell is trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlirad as ti
from mlirad.examples.pictures import GOLD, NIGHT, SKY, Picture, outline, shades
from mlirad.examples.training import Comparison, Outcome, Simulator

DT = 0.5  # of the time in which a wave passes a cell


def nabla(cells: int) -> NDArray[np.float64]:
    """The image: a triangle that stands on its tip, with a hole."""
    x, y = (np.mgrid[:cells, :cells] + 0.5) / cells - 0.5

    def inside(width: float) -> NDArray[np.float64]:
        slant = (2 * np.abs(x) - y) / np.sqrt(5)
        return 1 / (1 + np.exp(cells * 0.7 * np.maximum(slant, y - width) - cells * 0.7 * width))

    return inside(0.14) - inside(0.05)


@ti.data_oriented
class Wave(Simulator):
    """A wave on a drum: the initial shape of the drum is trained so that an image forms."""

    rate, iterations = 0.05, 400

    def __init__(self, small: bool = False) -> None:
        self.cells, self.steps = (24, 24) if small else (128, 160)
        shape = (self.cells, self.cells)
        self.start: Any = ti.field(float, shape, needs_grad=True)
        self.height: Any = ti.field(float, shape, needs_grad=True)
        self.speed: Any = ti.field(float, shape, needs_grad=True)
        self.image: Any = ti.field(float, shape)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.parameters = [self.start]
        self.image.from_numpy(nabla(self.cells))

    @ti.func
    def at(self, i: int, j: int) -> float:
        """The height, which is 0 beyond the rim."""
        inside = 0 <= i < self.cells and 0 <= j < self.cells
        return self.height[i, j] if inside else 0.0

    @ti.func
    def bend(self, i: int, j: int) -> float:
        """The Laplacian of the height."""
        around = self.at(i - 1, j) + self.at(i + 1, j) + self.at(i, j - 1) + self.at(i, j + 1)
        return around - 4 * self.height[i, j]

    @ti.kernel
    def begin(self) -> None:
        for i, j in self.start:
            self.height[i, j] = self.start[i, j]
            self.speed[i, j] = 0.0

    @ti.kernel
    def step(self, number: int) -> None:
        for i, j in self.speed:
            self.speed[i, j] += DT * self.bend(i, j)
        for i, j in self.height:
            self.height[i, j] += DT * self.speed[i, j]

    @ti.kernel
    def finish(self) -> None:
        for i, j in self.image:
            self.loss[None] += (self.height[i, j] - self.image[i, j]) ** 2 / self.cells**2

    @ti.kernel
    def energy(self) -> float:
        """Return what these steps conserve, to rounding: the energy, and a correction of the first
        order in the step (Hairer, Lubich, Wanner: "Geometric numerical integration", I.1)."""
        total = 0.0
        for i, j in self.height:
            force = self.bend(i, j)
            total += 0.5 * self.speed[i, j] ** 2
            total -= 0.5 * (self.height[i, j] - DT * self.speed[i, j]) * force
        return total

    def verify(self) -> Comparison:
        self.begin()
        before = self.energy()
        for number in range(self.steps):
            self.step(number)
        return Comparison("energy after the last step", self.energy(), before, 1e-10 * before)

    def outcome(self) -> Outcome:
        error, image = self.height.to_numpy() - self.image.to_numpy(), self.image.to_numpy()
        return Outcome(
            "the image is {} % wrong", 100 * float((error**2).sum() / (image**2).sum()) ** 0.5, 0
        )

    def picture(self, size: int, number: int) -> Picture:
        picture = shades(0.5 + 0.5 * self.height.to_numpy(), size, [SKY, NIGHT, GOLD])
        return outline(picture, self.image.to_numpy())


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("wave"))
