"""Find where a wave began from what receivers measured, on a grid that is distributed over ranks.

    mpiexec -n 4 python -m mlirad.examples.ranks.waves

The wave equation on a square with a fixed rim is integrated in place. It is linear, so a tape saves
only what the squares of the receivers' errors need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad import dist
from mlirad.examples.ranks.fitting import Array, Fitted, run

DT = 0.5  # of the time in which a wave passes a cell


@ti.data_oriented
class Waves(Fitted):
    """The height of a membrane when it is let go, from what receivers hear later."""

    rate, iterations = 0.05, 60

    def __init__(self, cells: int = 48, steps: int = 60) -> None:
        self.cells, self.steps, self.row = cells, steps, cells // 3
        self.grid = dist.Grid((cells, cells), halo=1)
        (self.begin, self.end), (low, high) = self.grid.local
        self.hears = low <= self.row < high
        self.source, self.height, self.speed = (
            self.grid.field(float, needs_grad=True) for _ in range(3)
        )
        self.heard: Any = ti.field(float, (steps, self.end - self.begin))
        self.part: Any = ti.field(float, (), needs_grad=True)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.listen()

    def listen(self) -> None:
        """Record what the receivers hear, of two bumps. The search begins at none."""
        x, y = np.mgrid[: self.cells, : self.cells] / self.cells
        bumps = [np.exp(-200 * ((x - a) ** 2 + (y - b) ** 2)) for a, b in ((0.3, 0.6), (0.7, 0.5))]
        self.set_parameters(bumps[0] - 0.5 * bumps[1] if dist.rank() == 0 else None)
        self.let_go()
        for number in range(self.steps):
            self.step()
            if self.hears:
                self.keep(number)
        self.source.fill(0)

    @ti.kernel
    def let_go(self) -> None:
        for i, j in ti.ndrange(*self.grid.local):
            self.height[i, j] = self.source[i, j]
            self.speed[i, j] = 0.0

    @ti.kernel
    def accelerate(self) -> None:
        for i, j in ti.ndrange(*self.grid.local):
            around = self.height[i - 1, j] + self.height[i + 1, j]
            around += self.height[i, j - 1] + self.height[i, j + 1]
            self.speed[i, j] += DT * (around - 4 * self.height[i, j])

    @ti.kernel
    def move(self) -> None:
        for i, j in ti.ndrange(*self.grid.local):
            self.height[i, j] += DT * self.speed[i, j]

    @ti.kernel
    def keep(self, number: int) -> None:
        for i in range(self.begin, self.end):
            self.heard[number, i - self.begin] = self.height[i, self.row]

    @ti.kernel
    def compare(self, number: int) -> None:
        for i in range(self.begin, self.end):
            miss = self.height[i, self.row] - self.heard[number, i - self.begin]
            self.part[None] += miss**2

    def step(self) -> None:
        """The next state."""
        self.grid.exchange(self.height)
        self.accelerate()
        self.move()

    def run(self) -> None:
        self.part.fill(0)
        self.let_go()
        for number in range(self.steps):
            self.step()
            if self.hears:
                self.compare(number)
        dist.reduce(self.part, self.loss)

    def parameters(self) -> Array | None:
        return self.grid.to_numpy(self.source)

    def set_parameters(self, values: Array | None) -> None:
        self.grid.from_numpy(self.source, values)

    def gathered_gradient(self) -> Array | None:
        return self.grid.to_numpy(self.source.grad)


if __name__ == "__main__":
    run(Waves)
