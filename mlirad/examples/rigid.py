"""Throw a rigid bar so that it knocks a block to a mark.

    python -m mlirad.examples rigid

Each body is a rigid row or square of discs. Discs that touch each other or the floor push back like
springs, with damping and friction. The bodies are structs, which one kernel updates in place for
many steps. The velocity and the spin of the bar are trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.pictures import GOLD, INK, LEAF, ROSE, SKY, Canvas, Picture
from mlirad.examples.training import Comparison, Outcome, Simulator

RADIUS, FLOOR, GRAVITY = 0.04, 0.1, 5.0
STIFFNESS, DAMPING, FRICTION = 3000.0, 6.0, 0.4
DT, SUBSTEPS = 1e-3, 40
MARK = (0.8, FLOOR + 2 * RADIUS)
ROW = [(-3.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (3.0, 0.0)]
SQUARE = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
BODIES = ((0.2, 0.28), (0.5, FLOOR + 2 * RADIUS), (0.5, FLOOR + 6 * RADIUS))
INERTIA = (6.0 * RADIUS**2, 3.0 * RADIUS**2, 3.0 * RADIUS**2)  # of mass 1
Pair = ti.types.vector(2, ti.f64)


@ti.dataclass
class Body:
    """A rigid body in the plane."""

    place: Pair  # type: ignore[valid-type]
    speed: Pair  # type: ignore[valid-type]
    angle: ti.f64
    spin: ti.f64

    @ti.func
    def arm(self, x: float, y: float) -> Any:
        """From the middle to a point of the body."""
        c, s = ti.cos(self.angle), ti.sin(self.angle)
        return ti.Vector([c * x - s * y, s * x + c * y])

    @ti.func
    def speed_at(self, arm: Any) -> Any:
        """Return the speed of a point of the body."""
        return self.speed + self.spin * ti.Vector([-arm[1], arm[0]])


@ti.data_oriented
class Rigid(Simulator):
    """Rigid bodies with contacts: the throw of a bar that hits a block is trained."""

    rate, iterations, visible = 0.03, 50, 0.6

    def __init__(self, small: bool = False) -> None:
        self.steps, self.count = (10, 2) if small else (25, 3)
        self.bodies: Any = Body.field(  # type: ignore[attr-defined]
            shape=self.count, needs_grad=True
        )
        self.push: Any = ti.field(float, (self.count, 3), needs_grad=True)  # forces and torque
        self.disc: Any = ti.Vector.field(2, float, (self.count, 4))
        self.throw: Any = ti.field(float, 3, needs_grad=True)
        self.losses: Any = ti.field(float, ())  # 1, or 0 for contacts that keep energy
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.stored: Any = ti.field(float, ())  # in contacts
        self.parameters = [self.throw]
        self.disc.from_numpy(RADIUS * np.array([ROW, SQUARE, SQUARE][: self.count]))
        self.throw.from_numpy(np.array([1.2, 0.3, 0.0]))
        self.losses[None] = 1.0

    @ti.kernel
    def begin(self) -> None:
        for i in ti.static(range(self.count)):
            self.bodies[i].place = ti.Vector([BODIES[i][0], BODIES[i][1]])
            self.bodies[i].speed = ti.Vector([0.0, 0.0])
            self.bodies[i].angle = 0.0
            self.bodies[i].spin = 0.0
        self.bodies[0].speed = ti.Vector([self.throw[0], self.throw[1]])
        self.bodies[0].spin = self.throw[2]

    @ti.func
    def apply(self, i: int, arm: Any, force: Any) -> None:
        """A force at a point of a body."""
        self.push[i, 0] += force[0]
        self.push[i, 1] += force[1]
        self.push[i, 2] += arm[0] * force[1] - arm[1] * force[0]

    @ti.func
    def contact(self, deep: float, normal: Any, speed: Any) -> Any:
        """The force between surfaces that are so deep in each other and slide so fast."""
        rough = self.losses[None]
        self.stored[None] += 0.5 * STIFFNESS * deep**2
        away = speed.dot(normal)
        press = ti.max(STIFFNESS * deep - rough * DAMPING * away, 0.0)
        slide = speed - away * normal
        return press * (normal - rough * FRICTION * slide / ti.sqrt(slide.norm_sqr() + 1e-3))

    @ti.func
    def touch(self, i: int, k: int) -> None:
        """Add the forces of the floor and of the discs of later bodies on a disc."""
        arm = self.bodies[i].arm(self.disc[i, k][0], self.disc[i, k][1])
        place, speed = self.bodies[i].place + arm, self.bodies[i].speed_at(arm)
        deep = FLOOR + RADIUS - place[1]
        if deep > 0:
            self.apply(i, arm, self.contact(deep, ti.Vector([0.0, 1.0]), speed))
        for j in range(i + 1, self.count):
            for m in range(4):
                other = self.bodies[j].arm(self.disc[j, m][0], self.disc[j, m][1])
                difference = place - self.bodies[j].place - other
                if difference.norm_sqr() < 4 * RADIUS**2:
                    slip = speed - self.bodies[j].speed_at(other)
                    inside = 2 * RADIUS - difference.norm()
                    force = self.contact(inside, difference.normalized(), slip)
                    self.apply(i, arm, force)
                    self.apply(j, other, -force)

    @ti.kernel
    def step(self, number: int) -> None:
        ti.loop_config(serialize=True)
        for _ in range(SUBSTEPS):
            self.stored[None] = 0.0
            for i in range(self.count):
                self.push[i, 0], self.push[i, 1], self.push[i, 2] = 0.0, -GRAVITY, 0.0
            for i in range(self.count):
                for k in range(4):
                    self.touch(i, k)
            for i in range(self.count):
                inertia = INERTIA[1]
                if i == 0:
                    inertia = INERTIA[0]
                self.bodies[i].speed += DT * ti.Vector([self.push[i, 0], self.push[i, 1]])
                self.bodies[i].spin += DT * self.push[i, 2] / inertia
                self.bodies[i].place += DT * self.bodies[i].speed
                self.bodies[i].angle += DT * self.bodies[i].spin

    @ti.kernel
    def finish(self) -> None:
        difference = self.bodies[self.count - 1].place - ti.Vector([MARK[0], MARK[1]])
        self.loss[None] += difference.norm_sqr()

    def energy(self) -> float:
        """Return the energy of motion, height and contacts."""
        speed, spin = self.bodies.speed.to_numpy(), self.bodies.spin.to_numpy()
        height = self.bodies.place.to_numpy()[:, 1].sum()
        turning = (np.array(INERTIA[: self.count]) * spin**2).sum() / 2
        return float((speed**2).sum() / 2 + turning + GRAVITY * height) + self.stored[None]

    def verify(self) -> Comparison:
        self.losses[None] = 0.0
        self.begin()
        first = self.energy()
        for number in range(self.steps):
            self.step(number)
        self.losses[None] = 1.0
        name = "energy after contacts without friction and damping"
        return Comparison(name, self.energy(), first, 0.02 * first)

    def outcome(self) -> Outcome:
        way = np.linalg.norm(self.bodies.place.to_numpy()[-1] - MARK)
        return Outcome("the block is {} m from the mark", float(way))

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size)
        canvas.path([(0, FLOOR), (1, FLOOR)], 0.008, INK)
        canvas.ring(MARK, 2.6 * RADIUS, 0.008, GOLD)
        places, angles = self.bodies.place.to_numpy(), self.bodies.angle.to_numpy()
        for place, angle, discs, colour in zip(
            places, angles, self.disc.to_numpy(), (SKY, ROSE, LEAF)
        ):
            c, s = np.cos(angle), np.sin(angle)
            corners = place + discs @ np.array([[c, s], [-s, c]])
            canvas.path([*corners, corners[0]], 2 * RADIUS, colour)
            canvas.discs(corners, RADIUS, colour)
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("rigid"))
