"""Reconstruct a body from its shadows.

    python -m mlirad.examples silhouettes

Rays pass through a grid of densities, and light fades by Beer's law. A ring around a ball is seen
from many sides. The density of each cell is trained until the grid casts the same shadows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlirad as ti
from mlirad.examples.pictures import GOLD, NIGHT, Picture, outline, shades
from mlirad.examples.training import Comparison, Outcome, Simulator

SPAN = 1.8  # the rays' way through the unit cube, in the middle of it
OPACITY = 12.0  # of density 1


def ring_and_ball(cells: int) -> NDArray[np.float64]:
    """Densities of 0 or 1."""
    x, y, z = (np.mgrid[:cells, :cells, :cells] + 0.5) / cells - 0.5
    ring = (np.hypot(x, y) - 0.32) ** 2 + z**2 < 0.085**2
    return (ring | (x**2 + y**2 + z**2 < 0.16**2)).astype(float)


@ti.data_oriented
class Silhouettes(Simulator):
    """Volume rendering: the densities of a body are trained on its silhouettes."""

    rate, iterations = 0.05, 150

    def __init__(self, small: bool = False) -> None:
        self.cells, self.pixels, self.steps = (12, 12, 4) if small else (40, 56, 16)
        self.samples = 2 * self.cells
        shape = (self.cells,) * 3
        self.density: Any = ti.field(float, shape, needs_grad=True)
        self.shadow: Any = ti.field(float, (self.steps, self.pixels, self.pixels), needs_grad=True)
        self.seen: Any = ti.field(float, (self.steps, self.pixels, self.pixels))
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.parameters = [self.density]
        self.density.from_numpy(ring_and_ball(self.cells))
        self.run()
        self.seen.copy_from(self.shadow)
        self.density.fill(0.05)

    @ti.func
    def sample(self, x: Any) -> float:
        """The density at a point, between the middles of cells; 0 outside."""
        place = x * self.cells - 0.5
        low = ti.floor(place)
        fraction, corner = place - low, ti.cast(low, int)
        total = 0.0
        for offset in ti.static(ti.grouped(ti.ndrange(2, 2, 2))):
            cell = corner + offset
            if (cell >= 0).all() and (cell < self.cells).all():
                weight = ti.abs(1 - offset - fraction)
                total += weight[0] * weight[1] * weight[2] * self.density[cell]
        return total

    def begin(self) -> None:
        """Begin: nothing passes from view to view."""

    @ti.kernel
    def step(self, number: int) -> None:
        angle = number * np.pi / self.steps
        tilt = 0.5 * ti.sin(5.0 * angle)
        ahead = ti.Vector(
            [ti.cos(angle) * ti.cos(tilt), ti.sin(angle) * ti.cos(tilt), ti.sin(tilt)]
        )
        right = ti.Vector([-ti.sin(angle), ti.cos(angle), 0.0])
        up = ahead.cross(right)
        for i, j in ti.ndrange(self.pixels, self.pixels):
            across = (i + 0.5) / self.pixels - 0.5
            above = (j + 0.5) / self.pixels - 0.5
            depth = 0.0
            for k in range(self.samples):
                way = SPAN * ((k + 0.5) / self.samples - 0.5)
                depth += self.sample(0.5 + across * right + above * up + way * ahead)
            self.shadow[number, i, j] = 1 - ti.exp(-OPACITY * SPAN / self.samples * depth)

    @ti.kernel
    def finish(self) -> None:
        for I in ti.grouped(self.shadow):
            error = self.shadow[I] - self.seen[I]
            self.loss[None] += error**2 / (self.steps * self.pixels**2)

    def verify(self) -> Comparison:
        density = self.density.to_numpy()
        self.density.fill(0.1)
        self.step(0)
        middle = self.pixels // 2
        brightness = float(self.shadow[0, middle, middle])
        self.density.from_numpy(density)
        way = 1.0  # through a cube of one density, straight
        return Comparison("shadow of a cube", brightness, 1 - np.exp(-0.1 * OPACITY * way), 0.03)

    def outcome(self) -> Outcome:
        shadows = self.seen.to_numpy()
        share = float(np.abs(self.shadow.to_numpy() - shadows).sum() / shadows.sum())
        return Outcome("the shadows are {} % wrong", 100 * share, 1)

    def picture(self, size: int, number: int) -> Picture:
        picture = shades(self.shadow.to_numpy()[number - 1], size, [NIGHT, (90, 70, 60), GOLD])
        return outline(picture, self.seen.to_numpy()[number - 1])


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("silhouettes"))
