"""A robot of masses and springs learns to walk.

    python -m mlirad.examples robot

A network of one hidden layer observes a rhythm and the speed of the robot, and sets the lengths of
the springs of its legs. The weights are trained so that the robot reaches a mark and its back stays
as high as at the start. The floor pushes the robot up and slows it by friction.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.pictures import INK, ROSE, SKY, Canvas, Picture
from mlirad.examples.training import Comparison, Outcome, Simulator

CELLS = ((0, 1), (1, 1), (2, 1), (3, 1), (0, 0), (3, 0))  # of the body, and two legs
SIDE, FLOOR, AIM = 0.08, 0.1, 0.7
STIFFNESS, DAMPING, GROUND, GRIP = 3000.0, 10.0, 4000.0, 1.0
HIDDEN, PHASES, GRAVITY = 16, 4, 3.7  # on Mars
DT, SUBSTEPS = 2e-3, 20
BACK, UPRIGHT = FLOOR + 1.5 * SIDE, 20.0  # corners above are its back; how much its height counts


def skeleton() -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[bool]]:
    """Corners, springs between them, and which springs are muscles."""
    corners = sorted({(i + a, j + b) for i, j in CELLS for a in (0, 1) for b in (0, 1)})
    springs: dict[tuple[int, int], bool] = {}
    for i, j in CELLS:
        around = [corners.index((i + a, j + b)) for a in (0, 1) for b in (0, 1)]
        for pair in combinations(sorted(around), 2):
            springs[pair] = springs.get(pair, False) or j == 0
    return corners, list(springs), list(springs.values())


@ti.data_oriented
class Robot(Simulator):
    """A robot of masses and springs: the network that moves its legs is trained."""

    rate, iterations, visible = 0.002, 400, 0.6

    def __init__(self, small: bool = False) -> None:
        corners, springs, muscles = skeleton()
        self.steps = 5 if small else 40
        self.times, self.count, self.springs = self.steps * SUBSTEPS, len(corners), len(springs)
        rows = (self.times + 1, self.count)
        self.inward: Any = ti.field(float, (HIDDEN, PHASES + 3), needs_grad=True)
        self.outward: Any = ti.field(float, (self.springs, HIDDEN), needs_grad=True)
        self.hidden: Any = ti.field(float, (self.times, HIDDEN), needs_grad=True)
        self.x: Any = ti.Vector.field(2, float, rows, needs_grad=True)
        self.v: Any = ti.Vector.field(2, float, rows, needs_grad=True)
        self.force: Any = ti.Vector.field(2, float, rows, needs_grad=True)
        self.ends: Any = ti.Vector.field(2, int, self.springs)
        self.muscle: Any = ti.field(float, self.springs)
        self.rest: Any = ti.Vector.field(2, float, self.count)
        self.lift: Any = ti.field(float, ())
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.parameters = [self.inward, self.outward]
        self.rest.from_numpy(SIDE * np.array(corners, float) + (0.1, FLOOR + 0.001))
        self.ends.from_numpy(np.array(springs, np.int32))
        self.muscle.from_numpy(np.array(muscles, float))
        random = np.random.default_rng(0)
        self.inward.from_numpy(random.normal(0, 0.5, (HIDDEN, PHASES + 3)))
        self.outward.from_numpy(random.normal(0, 0.2, (self.springs, HIDDEN)))

    @ti.kernel
    def begin(self) -> None:
        for i in self.rest:
            self.x[0, i] = self.rest[i] + ti.Vector([0.0, self.lift[None]])
            self.v[0, i] = ti.Vector([0.0, 0.0])

    @ti.func
    def think(self, t: int) -> None:
        """The hidden layer: a rhythm and the speed of the robot."""
        mean = ti.Vector([0.0, 0.0])
        for i in range(self.count):
            mean += self.v[t, i] / self.count
        for h in range(HIDDEN):
            total = self.inward[h, PHASES + 2]
            for k in range(PHASES):
                angle = 2 * np.pi * (3.0 * t * DT + k / PHASES)
                total += self.inward[h, k] * ti.sin(angle)
            for k in ti.static(range(2)):
                total += self.inward[h, PHASES + k] * mean[k]
            self.hidden[t, h] = ti.tanh(total)

    @ti.func
    def pull(self, t: int, s: int) -> None:
        """The forces of a spring, which a muscle makes longer or shorter by up to a fifth."""
        i, j = self.ends[s][0], self.ends[s][1]
        told = 0.0
        for h in range(HIDDEN):
            told += self.outward[s, h] * self.hidden[t, h]
        length = (self.rest[i] - self.rest[j]).norm() * (1 + 0.2 * self.muscle[s] * ti.tanh(told))
        difference = self.x[t, i] - self.x[t, j]
        along = difference.normalized()
        towards = (self.v[t, i] - self.v[t, j]).dot(along)
        force = -(STIFFNESS * (difference.norm() - length) + DAMPING * towards) * along
        self.force[t, i] += force
        self.force[t, j] -= force

    @ti.kernel
    def step(self, number: int) -> None:
        ti.loop_config(serialize=True)
        for t in range(number * SUBSTEPS, (number + 1) * SUBSTEPS):
            self.think(t)
            for i in range(self.count):
                force = ti.Vector([0.0, -GRAVITY])
                deep = FLOOR - self.x[t, i][1]
                if deep > 0:
                    push = GROUND * deep * ti.max(1 - self.v[t, i][1], 0.0)
                    force[1] += push
                    force[0] -= GRIP * push * ti.tanh(20 * self.v[t, i][0])
                self.force[t, i] = force
            for s in range(self.springs):
                self.pull(t, s)
            for i in range(self.count):
                self.v[t + 1, i] = self.v[t, i] + DT * self.force[t, i]
                self.x[t + 1, i] = self.x[t, i] + DT * self.v[t + 1, i]

    @ti.kernel
    def finish(self) -> None:
        for i in self.rest:
            self.loss[None] += (self.x[self.times, i][0] - AIM) ** 2 / self.count
        for t, i in ti.ndrange(self.times, self.count):
            if self.rest[i][1] > BACK:  # a corner of the back, which is to stay up
                drop = self.x[t, i][1] - self.rest[i][1]
                self.loss[None] += UPRIGHT * drop**2 / (5 * self.times)

    def verify(self) -> Comparison:
        self.lift[None] = 50.0
        self.begin()
        for number in range(self.steps):
            self.step(number)
        self.lift[None] = 0.0
        fall = (self.x.to_numpy()[0] - self.x.to_numpy()[-1])[:, 1].mean()
        free = GRAVITY * DT**2 * self.times * (self.times + 1) / 2
        return Comparison("fall of its center in flight, whatever its legs do", fall, free, 1e-9)

    def outcome(self) -> Outcome:
        way = float((self.x.to_numpy()[-1] - self.rest.to_numpy())[:, 0].mean())
        aim = AIM - float(self.rest.to_numpy()[:, 0].mean())
        return Outcome(f"the robot went {{}} of {aim:.2f} m", way)

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size)
        x, ends = self.x.to_numpy()[number * SUBSTEPS], self.ends.to_numpy()
        canvas.path([(0, FLOOR), (1, FLOOR)], 0.008, INK)
        canvas.flag(AIM, FLOOR, 0.4)
        for pair, muscle in zip(ends, self.muscle.to_numpy()):
            canvas.path(x[pair], 0.012, ROSE if muscle else SKY)
        canvas.discs(x, 0.012, INK)
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("robot"))
