"""Move a glass of water so that the water does not slosh when the glass arrives.

    python -m mlirad.examples liquid

The water consists of material points and is almost incompressible: the speed of sound is so high
that the density changes by one percent (Monaghan, J. Comput. Phys. 110, 1994). The simulation moves
with the glass, so the acceleration of the glass acts on all the water. The acceleration over time
is trained. It begins as one that first speeds the glass up and then brakes it, which leaves the
water moving.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.material_points import GRAVITY, WALL, Material
from mlirad.examples.pictures import GOLD, INK, SKY, Canvas, Colour, Picture
from mlirad.examples.training import Comparison, Outcome

STIFFNESS = 300.0
COURANT = 0.048  # the step of time, over the time in which speed 1 passes a cell
HURRY = 0.25  # the way of the glass, over the square of its time


@ti.data_oriented
class Liquid(Material):
    """Water in a glass: the motion of the glass is trained so that the water does not slosh."""

    rate, iterations, friction = 0.1, 60, 0.0

    def __init__(self, small: bool = False) -> None:
        cells, self.steps, self.knots = (16, 160, 4) if small else (32, 900, 18)
        spacing, wall = 0.5 / cells, WALL / cells
        width, height = 1 - 2 * wall, 0.3
        points = np.mgrid[0:width:spacing, 0:height:spacing].reshape(2, -1).T + wall + spacing / 2
        self.lay(points, cells, COURANT / cells, width * height)
        self.push: Any = ti.field(float, self.knots, needs_grad=True)
        self.swing: Any = ti.Vector.field(2, float, (), needs_grad=True)
        self.parameters = [self.push]
        self.span = self.steps * self.dt
        self.distance = HURRY * self.span**2
        signs = np.where(np.arange(self.knots) < self.knots // 2, 1.0, -1.0)
        self.push.from_numpy(4 * HURRY * signs)

    @ti.func
    def stress(self, p: int, f: Any, number: int) -> Any:
        """Pressure alone."""
        volume = f.determinant()
        return STIFFNESS * (volume - 1) * volume * ti.Matrix.identity(float, 2)

    @ti.func
    def settle(self, f: Any) -> Any:
        """A liquid remembers its volume only."""
        return ti.sqrt(f.determinant()) * ti.Matrix.identity(float, 2)

    @ti.func
    def pull(self, number: int) -> Any:
        """Gravity, and the glass that goes the other way."""
        return ti.Vector([-self.push[number * self.knots // self.steps], -GRAVITY])

    @ti.kernel
    def begin(self) -> None:
        self.swing[None] = ti.Vector([0.0, 0.0])
        for p in self.x:
            self.x[p] = self.rest[p]
            self.v[p] = ti.Vector([0.0, 0.0])
            self.affine[p] = ti.Matrix.zero(float, 2, 2)
            self.shape[p] = ti.Matrix.identity(float, 2)

    @ti.kernel
    def slosh(self) -> None:
        """Measure the distance of the water's middle from that of the glass, and its average
        speed."""
        for p in self.x:
            self.swing[None][0] += self.mass * (self.x[p][0] - 0.5)
            self.loss[None] += self.mass * self.v[p].norm_sqr()

    @ti.kernel
    def arrive(self) -> None:
        """Add what the glass has missed: the way, and that it stands."""
        speed, way, time = 0.0, 0.0, self.span / self.knots
        ti.loop_config(serialize=True)
        for k in range(self.knots):
            way += time * (speed + 0.5 * time * self.push[k])
            speed += time * self.push[k]
        self.loss[None] += 20 * self.swing[None][0] ** 2 + 5 * speed**2
        self.loss[None] += 20 * (way - self.distance) ** 2

    def finish(self) -> None:
        self.slosh()
        self.arrive()

    def verify(self) -> Comparison:
        self.begin()
        for number in range(self.steps):
            self.step(number)
        shape = self.shape.to_numpy()
        volume = float(np.linalg.det(shape).mean()) * self.volume * self.count
        full = self.volume * self.count
        return Comparison("volume of the water at the end", volume, full, 0.05 * full)

    def outcome(self) -> Outcome:
        speed = float(np.hypot(*self.v.to_numpy().T).mean())
        return Outcome("the water moves at {} m/s in the end", speed)

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size)
        push = np.repeat(self.push.to_numpy(), self.steps // self.knots)[:number]
        way = float((np.cumsum(push) * self.dt).sum() * self.dt)
        scale, wall = 0.5, WALL / self.cells
        left = np.array([way - 0.02, 0.25])
        glass = [(wall, 0.75), (wall, wall), (1 - wall, wall), (1 - wall, 0.75)]
        goal = np.array([self.distance - 0.02, 0.25])
        canvas.path(goal + scale * np.array(glass), 0.006, GOLD)
        speed = np.hypot(*self.v.to_numpy().T)
        foam = np.clip(speed / 1.5, 0, 1)[:, None]
        shaded: list[Colour] = [
            (int(r), int(g), int(b)) for r, g, b in (1 - foam) * np.array(SKY) * 0.8 + foam * 255
        ]
        radius = 0.6 * scale * np.sqrt(self.volume)
        canvas.discs(left + scale * self.x.to_numpy(), radius, shaded)
        canvas.path(left + scale * np.array(glass), 0.012, INK)
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("liquid"))
