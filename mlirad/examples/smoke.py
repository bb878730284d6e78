"""Smoke drifts into a shape.

    python -m mlirad.examples smoke

An inviscid flow on a torus advects itself, and its divergence is removed (Stam, "Stable fluids",
SIGGRAPH 1999). Over-relaxation in place computes the pressure, red cells first and black cells
second. This is linear, so a gradient saves nothing for the sweeps. The initial flow in each cell is
trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.pictures import GOLD, NIGHT, ROSE, Picture, outline, shades
from mlirad.examples.training import Comparison, Outcome, Simulator


@ti.data_oriented
class Smoke(Simulator):
    """Smoke: the initial flow is trained so that the smoke drifts into a ring."""

    rate, iterations = 0.02, 240

    def __init__(self, small: bool = False) -> None:
        self.cells, self.steps, self.sweeps = (16, 4, 24) if small else (64, 20, 40)
        self.dt = self.cells / self.steps  # speeds in sides, lengths in cells
        self.relax = 2 / (1 + np.sin(2 * np.pi / self.cells))  # the best (Young, 1954)
        shape = (self.cells, self.cells)
        rows = (self.steps + 1, *shape)
        self.start: Any = ti.field(float, (*shape, 2), needs_grad=True)
        self.carried: Any = ti.Vector.field(2, float, rows, needs_grad=True)
        self.flow: Any = ti.Vector.field(2, float, rows, needs_grad=True)
        self.pressure: Any = ti.field(float, shape, needs_grad=True)
        self.smoke: Any = ti.field(float, rows, needs_grad=True)
        self.target: Any = ti.field(float, shape)
        self.puff: Any = ti.field(float, shape)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.parameters = [self.start]
        x, y = (np.mgrid[: self.cells, : self.cells] + 0.5) / self.cells - 0.5
        ring = np.abs(np.hypot(x, y) - 0.3)
        self.target.from_numpy(np.clip((0.08 - ring) * 16, 0, 1))
        self.puff.from_numpy(np.clip((0.28 - np.hypot(x, y)) * 16, 0, 1))

    @ti.func
    def near(self, i: int, j: int) -> Any:
        """A cell of the torus."""
        return ti.Vector([(i + self.cells) % self.cells, (j + self.cells) % self.cells])

    @ti.func
    def blend(self, field: ti.template, number: int, x: Any) -> Any:
        """A field between the middles of its cells."""
        low = ti.floor(x)
        fraction = x - low
        corner = ti.cast(low, int)
        total = 0.0 * field[number, 0, 0]
        for i, j in ti.static(ti.ndrange(2, 2)):
            weight = ti.abs(1 - i - fraction[0]) * ti.abs(1 - j - fraction[1])
            cell = (corner + ti.Vector([i, j])) % self.cells
            total += weight * field[number, cell[0], cell[1]]
        return total

    @ti.func
    def relax_cells(self, number: int, colour: int) -> None:
        """Bring the pressure of every second cell nearer to what its neighbors ask for."""
        for i, j in ti.ndrange(self.cells, self.cells):
            if (i + j) % 2 == colour:
                left, right = self.near(i - 1, j), self.near(i + 1, j)
                below, above = self.near(i, j - 1), self.near(i, j + 1)
                asked = self.pressure[left] + self.pressure[right]
                asked += self.pressure[below] + self.pressure[above]
                asked -= self.divergence(self.carried, number, i, j)
                self.pressure[i, j] += self.relax * (0.25 * asked - self.pressure[i, j])

    @ti.func
    def divergence(self, flow: ti.template, t: int, i: int, j: int) -> float:
        """Return the outflow of a cell; speeds stand on its left and lower side."""
        right, above = self.near(i + 1, j), self.near(i, j + 1)
        out = flow[t, right[0], right[1]][0] - flow[t, i, j][0]
        return out + flow[t, above[0], above[1]][1] - flow[t, i, j][1]

    @ti.kernel
    def begin(self) -> None:
        for i, j in self.puff:
            self.smoke[0, i, j] = self.puff[i, j]
            self.carried[0, i, j] = ti.Vector([self.start[i, j, 0], self.start[i, j, 1]])
            self.pressure[i, j] = 0.0

    @ti.kernel
    def press(self, number: int) -> None:
        """Red cells, then black ones, again and again."""
        ti.loop_config(serialize=True)
        for half in range(2 * self.sweeps):
            self.relax_cells(number, half % 2)

    @ti.kernel
    def project(self, number: int) -> None:
        """Take the slope of the pressure off the flow."""
        for i, j in self.pressure:
            left, below = self.near(i - 1, j), self.near(i, j - 1)
            slope_x = self.pressure[i, j] - self.pressure[left]
            slope_y = self.pressure[i, j] - self.pressure[below]
            self.flow[number, i, j] = self.carried[number, i, j] - ti.Vector([slope_x, slope_y])

    @ti.kernel
    def carry(self, number: int) -> None:
        """Take flow and smoke from where they come (semi-Lagrangian)."""
        for i, j in self.pressure:
            right, above = self.near(i + 1, j), self.near(i, j + 1)
            v = self.flow[number, i, j]
            v[0] = 0.5 * (v[0] + self.flow[number, right[0], right[1]][0])
            v[1] = 0.5 * (v[1] + self.flow[number, above[0], above[1]][1])
            back = ti.Vector([float(i), float(j)]) - self.dt * v
            self.smoke[number + 1, i, j] = self.blend(self.smoke, number, back)
            self.carried[number + 1, i, j] = self.blend(self.flow, number, back)

    def step(self, number: int) -> None:
        self.press(number)
        self.project(number)
        self.carry(number)

    @ti.kernel
    def finish(self) -> None:
        for i, j in self.target:
            error = self.smoke[self.steps, i, j] - self.target[i, j]
            self.loss[None] += error**2 / self.cells**2

    @ti.kernel
    def worst_divergence(self, flow: ti.template) -> float:
        """The largest divergence of a cell at the start."""
        worst = 0.0
        for i, j in self.pressure:
            ti.atomic_max(worst, ti.abs(self.divergence(flow, 0, i, j)))
        return worst

    def verify(self) -> Comparison:
        self.run()
        before = self.worst_divergence(self.carried)
        left = self.worst_divergence(self.flow) / before
        return Comparison("part of the divergence that is left", left, 0.0, 0.05)

    def outcome(self) -> Outcome:
        smoke, target = self.smoke.to_numpy()[-1], self.target.to_numpy()
        share = float(np.minimum(smoke, target).sum() / target.sum())
        return Outcome("{} % of the ring is filled", 100 * share, 0)

    def picture(self, size: int, number: int) -> Picture:
        picture = shades(self.smoke.to_numpy()[number], size, [NIGHT, ROSE, GOLD])
        return outline(picture, self.target.to_numpy())


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("smoke"))
