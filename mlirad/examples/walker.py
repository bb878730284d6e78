"""A soft animal learns to walk.

    python -m mlirad.examples walker

An elastic body of material points has four muscles in its two legs, which pull along the leg. The
rhythm of each muscle is trained: the amplitudes of sines and cosines of three frequencies. The tape
saves some of the states and repeats the steps between them (`ti.ad.checkpointed`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlirad as ti
from mlirad.examples.material_points import WALL, Material
from mlirad.examples.pictures import GOLD, INK, ROSE, SKY, Canvas, Colour, Picture
from mlirad.examples.training import Comparison, Outcome

MUSCLES, HARMONICS = 4, 3
STIFFNESS, SHEAR, STRENGTH = 30.0, 25.0, 24.0
RHYTHM = 4.0  # per second
COURANT = 0.1  # the step of time, over the time in which speed 1 passes a cell
AIM = 0.7


def animal(spacing: float, cells: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Points of a body on two legs, and the muscle that each belongs to, or -1."""
    x, y = (np.mgrid[0:0.36:spacing, 0:0.24:spacing] + spacing / 2).reshape(2, -1)
    leg = (x < 0.1) | (x > 0.26)
    inside = (y > 0.1) | leg
    side = (x > 0.18) * 2 + ((x > 0.05) & (x < 0.18) | (x > 0.31))
    muscle = np.where(leg & (y < 0.14), side, -1)[inside]
    return np.stack([x + (WALL + 2) / cells, y + WALL / cells + 0.001], axis=-1)[
        inside
    ], muscle.astype(np.int32)


@ti.data_oriented
class Walker(Material):
    """A 2-D elastic walker of material points: the rhythm of its muscles is trained."""

    rate, iterations = 0.1, 40
    best_frame, visible = 6, 0.6

    def __init__(self, small: bool = False) -> None:
        cells, spacing, self.steps = (20, 0.025, 400) if small else (36, 0.0139, 700)
        self.gravity = 3.7 if small else 3.0  # weak: it makes long steps
        points, muscle = animal(spacing, cells)
        self.lay(points, cells, COURANT / cells, len(points) * spacing**2)
        self.rhythm: Any = ti.field(float, (MUSCLES, HARMONICS, 2), needs_grad=True)
        self.muscle: Any = ti.field(int, self.count)
        self.lift: Any = ti.field(float, ())
        self.parameters = [self.rhythm]
        self.muscle.from_numpy(muscle)
        self.rhythm.from_numpy(np.random.default_rng(1).normal(0, 0.1, (MUSCLES, HARMONICS, 2)))

    @ti.func
    def tension(self, muscle: int, number: int) -> float:
        """Return the force of a muscle, from -1 to 1."""
        total = 0.0
        for k in range(HARMONICS):
            angle = 2 * np.pi * RHYTHM * (k + 1) * number * self.dt
            total += self.rhythm[muscle, k, 0] * ti.sin(angle)
            total += self.rhythm[muscle, k, 1] * ti.cos(angle)
        return ti.tanh(total)

    @ti.func
    def stress(self, p: int, f: Any, number: int) -> Any:
        """Neo-Hookean, and muscles along what was upright at rest."""
        identity = ti.Matrix.identity(float, 2)
        total = (
            SHEAR * (f @ f.transpose() - identity) + STIFFNESS * ti.log(f.determinant()) * identity
        )
        if self.muscle[p] >= 0:
            along = (f @ ti.Vector([0.0, 1.0])).normalized()
            total += STRENGTH * self.tension(self.muscle[p], number) * along.outer_product(along)
        return total

    @ti.kernel
    def begin(self) -> None:
        for p in self.x:
            self.x[p] = self.rest[p] + ti.Vector([0.0, self.lift[None]])
            self.v[p] = ti.Vector([0.0, 0.0])
            self.affine[p] = ti.Matrix.zero(float, 2, 2)
            self.shape[p] = ti.Matrix.identity(float, 2)

    @ti.kernel
    def finish(self) -> None:
        for p in self.x:
            self.loss[None] += (self.x[p][0] - AIM) ** 2 / self.count

    def verify(self) -> Comparison:
        self.lift[None] = 0.3
        self.begin()
        steps = int(0.3 / self.dt)  # it lands later
        for number in range(steps):
            self.step(number)
        self.lift[None] = 0.0
        fall = self.rest.to_numpy()[:, 1].mean() + 0.3 - self.x.to_numpy()[:, 1].mean()
        free = self.gravity * self.dt**2 * steps * (steps + 1) / 2
        return Comparison("fall of its center in flight, whatever its muscles do", fall, free, 1e-9)

    def outcome(self) -> Outcome:
        way = float((self.x.to_numpy() - self.rest.to_numpy())[:, 0].mean())
        aim = AIM - float(self.rest.to_numpy()[:, 0].mean())
        return Outcome(f"the walker went {{}} of {aim:.2f} m", way)

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size)
        floor = WALL / self.cells
        canvas.path([(0, floor), (1, floor)], 0.008, INK)
        canvas.flag(AIM, floor, 0.4)
        colours: tuple[Colour, ...] = (SKY, (60, 140, 200), ROSE, (180, 80, 100), GOLD)
        radius = 0.75 * np.sqrt(self.volume)
        canvas.discs(self.x.to_numpy(), radius, [colours[k] for k in self.muscle.to_numpy()])
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("walker"))
