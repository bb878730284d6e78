"""Throw a spinning jelly at a mark, in three dimensions.

    python -m mlirad.examples jelly

An elastic cube of material points bounces once. Its initial velocity and spin are trained so that
it arrives at a mark.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.material_points import WALL, Material
from mlirad.examples.pictures import GOLD, ROSE, SKY, Canvas, Colour, Picture
from mlirad.examples.training import Comparison, Outcome

STIFFNESS, SHEAR = 150.0, 120.0
COURANT = 0.06  # the step of time, over the time in which speed 1 passes a cell
SIDE = 0.22
MARK = (0.72, 0.3, 0.62)


@ti.data_oriented
class Jelly(Material):
    """A 3-D elastic jelly of material points: velocity and spin of its throw are trained."""

    rate, iterations, friction, gravity = 0.2, 30, 0.3, 3.7  # on Mars

    def __init__(self, small: bool = False) -> None:
        cells, across, self.steps = (16, 4, 40) if small else (24, 9, 320)
        axis = SIDE * ((np.arange(across) + 0.5) / across - 0.5)
        points = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
        self.lay(points + (0.34, 0.42, 0.4), cells, COURANT / cells, SIDE**3)
        self.throw: Any = ti.field(float, 6, needs_grad=True)  # speed and spin
        self.middle: Any = ti.Vector.field(3, float, (), needs_grad=True)
        self.parameters = [self.throw]
        self.throw.from_numpy(np.array([0.3, 0.5, -0.1, 0.0, 0.0, -2.0]))

    @ti.func
    def stress(self, p: int, f: Any, number: int) -> Any:
        """Neo-Hookean."""
        identity = ti.Matrix.identity(float, 3)
        return (
            SHEAR * (f @ f.transpose() - identity) + STIFFNESS * ti.log(f.determinant()) * identity
        )

    @ti.kernel
    def begin(self) -> None:
        self.middle[None] = ti.Vector([0.0, 0.0, 0.0])
        for p in self.x:
            v = ti.Vector([self.throw[0], self.throw[1], self.throw[2]])
            a, b, c = self.throw[3], self.throw[4], self.throw[5]
            turn = ti.Matrix([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
            self.x[p] = self.rest[p]
            self.v[p] = v + turn @ (self.rest[p] - ti.Vector([0.34, 0.42, 0.4]))
            self.affine[p] = turn
            self.shape[p] = ti.Matrix.identity(float, 3)

    @ti.kernel
    def find_middle(self) -> None:
        """The mean place."""
        for p in self.x:
            self.middle[None] += self.mass * self.x[p]

    @ti.kernel
    def compare(self) -> None:
        """Add the squared distance of the middle from the mark."""
        self.loss[None] += (self.middle[None] - ti.Vector([*MARK])).norm_sqr()

    def finish(self) -> None:
        self.find_middle()
        self.compare()

    def angular_momentum(self) -> float:
        """About the middle, along z; affine transfers carry a part of it."""
        x, v, affine = self.x.to_numpy(), self.v.to_numpy(), self.affine.to_numpy()
        offsets, swing = x - x.mean(axis=0), v - v.mean(axis=0)
        orbit = offsets[:, 0] * swing[:, 1] - offsets[:, 1] * swing[:, 0]
        spin = (affine[:, 1, 0] - affine[:, 0, 1]) / (4 * self.cells**2)
        return float(self.mass * (orbit + spin).sum())

    def verify(self) -> Comparison:
        self.begin()
        first = self.angular_momentum()
        for number in range(int(0.02 / self.dt)):  # it lands later
            self.step(number)
        last = self.angular_momentum()
        return Comparison("angular momentum in flight", last, first, 1e-9 * abs(first))

    def outcome(self) -> Outcome:
        way = np.linalg.norm(self.x.to_numpy().mean(axis=0) - MARK)
        return Outcome("the jelly is {} m from the mark", float(way))

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size)
        floor = WALL / self.cells

        def seen(points: Any) -> Any:
            x, y, z = np.moveaxis(np.asarray(points), -1, 0)
            return np.stack([0.1 + 0.75 * x + 0.25 * z, y * 0.95 + 0.3 * z - 0.05], axis=-1)

        edge = [(0.1, floor, 0.1), (0.9, floor, 0.1), (0.9, floor, 0.9), (0.1, floor, 0.9)]
        canvas.path(seen([*edge, edge[0]]), 0.006, (70, 76, 90))
        canvas.path(seen([MARK, (MARK[0], floor, MARK[2])]), 0.005, GOLD)
        canvas.ring(seen(MARK), 0.07, 0.008, GOLD)
        places = self.x.to_numpy()
        order = np.argsort(-places[:, 2] + 0.2 * places[:, 1])
        light = np.linspace(0.45, 1.0, self.count)
        left = self.rest.to_numpy()[order][:, :1] < 0.34
        colour = np.where(left, SKY, ROSE) * light[:, None]
        shaded: list[Colour] = [(int(r), int(g), int(b)) for r, g, b in colour]
        canvas.discs(seen(places[order]), 0.5 * SIDE / self.count ** (1 / 3), shaded)
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("jelly"))
