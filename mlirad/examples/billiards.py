"""Strike the cue ball so that the ball that it hits sends a third ball to a mark.

    python -m mlirad.examples billiards

Balls move in straight lines until they touch. The time of contact within a step is computed, and
its derivative counts (Hu et al., "DiffTaichi", ICLR 2020, section 4). Pairs are resolved one after
another, in place. The place and the velocity of the cue ball are trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.pictures import GOLD, INK, LEAF, ROSE, SKY, Canvas, Picture
from mlirad.examples.training import Comparison, Outcome, Simulator

RADIUS = 0.03
MARK = (0.87, 0.78)
DURATION = 0.8
SUBSTEPS = 16  # in a launch


@ti.data_oriented
class Billiards(Simulator):
    """Billiards: the place and the velocity of the cue ball are trained."""

    rate, iterations = 0.0005, 300

    def __init__(self, small: bool = False) -> None:
        rack = [(0.45, 0.5), (0.68, 0.56)]
        if not small:
            rack += [(0.3, 0.75), (0.55, 0.2), (0.87, 0.25), (0.5, 0.85), (0.2, 0.2), (0.08, 0.85)]
        self.steps = 4 if small else 32
        self.dt = DURATION / (self.steps * SUBSTEPS)
        self.balls = len(rack) + 1
        self.rack: Any = ti.Vector.field(2, float, self.balls)
        self.cue: Any = ti.field(float, 4, needs_grad=True)
        self.place: Any = ti.Vector.field(2, float, self.balls, needs_grad=True)
        self.speed: Any = ti.Vector.field(2, float, self.balls, needs_grad=True)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.parameters = [self.cue]
        self.rack.from_numpy(np.array([(0.0, 0.0), *rack]))
        self.cue.from_numpy(np.array([0.1, 0.493, 0.14, 0.0]))

    @ti.kernel
    def begin(self) -> None:
        for i in self.place:
            self.place[i] = self.rack[i]
            self.speed[i] = ti.Vector([0.0, 0.0])
        self.place[0] = ti.Vector([self.cue[0], self.cue[1]])
        self.speed[0] = ti.Vector([10 * self.cue[2], self.cue[3]])

    @ti.func
    def meet(self, i: int, j: int) -> None:
        """Let two balls bounce off each other, if they touch within this step."""
        difference = self.place[j] - self.place[i]
        toward = self.speed[i] - self.speed[j]
        after = difference - self.dt * toward
        if after.norm() < 2 * RADIUS and toward.dot(difference) > 0:
            # the first root of |apart - when * toward| = 2 RADIUS
            along, square = toward.dot(difference), toward.norm_sqr()
            room = difference.norm_sqr() - 4 * RADIUS**2
            when = (along - ti.sqrt(ti.max(along**2 - square * room, 0.0))) / square
            normal = (difference - when * toward).normalized()
            change = toward.dot(normal) * normal
            self.speed[i] -= change
            self.speed[j] += change
            self.place[i] += when * change
            self.place[j] -= when * change

    @ti.kernel
    def step(self, number: int) -> None:
        ti.loop_config(serialize=True)
        for _ in range(SUBSTEPS):
            for i in range(self.balls):
                for j in range(i + 1, self.balls):
                    self.meet(i, j)
            for i in range(self.balls):
                self.place[i] += self.dt * self.speed[i]

    @ti.kernel
    def finish(self) -> None:
        difference = self.place[2] - ti.Vector([MARK[0], MARK[1]])
        self.loss[None] += difference.norm_sqr()

    def verify(self) -> Comparison:
        self.begin()
        first = float((self.speed.to_numpy() ** 2).sum()) / 2
        for number in range(self.steps):
            self.step(number)
        last = float((self.speed.to_numpy() ** 2).sum()) / 2
        return Comparison("kinetic energy after all collisions", last, first, 1e-12 * first)

    def outcome(self) -> Outcome:
        way = np.linalg.norm(self.place.to_numpy()[2] - MARK)
        return Outcome("the ball is {} m from the mark", float(way))

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size, (18, 42, 36))
        canvas.ring(MARK, 1.3 * RADIUS, 0.01, GOLD)
        colours = [INK, SKY, GOLD, *[(SKY, ROSE, LEAF)[k % 3] for k in range(self.balls - 3)]]
        canvas.discs(self.place.to_numpy(), RADIUS, colours)
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("billiards"))
