"""Eight electrodes lead a charge along a figure of eight.

    python -m mlirad.examples electric

The electrodes hang above the plane of the charge and act on it by Coulomb's force; the
Störmer-Verlet method integrates its path. A network of one hidden layer observes how far the charge
is from its target and how much too fast it moves, and sets the charges of the electrodes. The
weights of the network are trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.pictures import GOLD, INK, ROSE, SKY, Canvas, Picture
from mlirad.examples.training import Comparison, Outcome, Simulator

ELECTRODES, HIDDEN = 8, 16
HEIGHT = 0.4  # of the electrodes above the plane of the charge
DURATION = 6.0
SUBSTEPS = 10  # in a launch


@ti.data_oriented
class Electric(Simulator):
    """A charge among electrodes: the network that controls their charges is trained."""

    rate, iterations = 0.005, 400

    def __init__(self, small: bool = False) -> None:
        self.steps = 6 if small else 60
        self.times = self.steps * SUBSTEPS
        self.dt = DURATION / self.times
        self.inward: Any = ti.field(float, (HIDDEN, 7), needs_grad=True)
        self.outward: Any = ti.field(float, (ELECTRODES, HIDDEN + 1), needs_grad=True)
        self.electrode: Any = ti.Vector.field(2, float, ELECTRODES)
        self.hidden: Any = ti.field(float, (self.times, HIDDEN), needs_grad=True)
        self.charge: Any = ti.field(float, (self.times, ELECTRODES), needs_grad=True)
        self.place: Any = ti.Vector.field(2, float, self.times + 1, needs_grad=True)
        self.speed: Any = ti.Vector.field(2, float, self.times + 1, needs_grad=True)
        self.aim: Any = ti.Vector.field(2, float, self.times + 1)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.parameters = [self.inward, self.outward]
        turn = 2 * np.pi * np.arange(ELECTRODES) / ELECTRODES
        self.electrode.from_numpy(0.5 + 0.42 * np.stack([np.cos(turn), np.sin(turn)], axis=-1))
        time = np.linspace(0, 2 * np.pi, self.times + 1)
        eight = np.stack([0.5 + 0.24 * np.sin(time), 0.5 + 0.24 * np.sin(2 * time)], axis=-1)
        self.aim.from_numpy(eight)
        random = np.random.default_rng(0)
        self.inward.from_numpy(random.normal(0, 0.5, (HIDDEN, 7)))
        self.outward.from_numpy(random.normal(0, 0.05, (ELECTRODES, HIDDEN + 1)))

    @ti.func
    def decide(self, t: int, x: Any) -> None:
        """The charges of the electrodes that the network chooses for a place and a speed."""
        behind = 5 * (self.aim[t] - x)
        goal = (self.aim[t + 1] - self.aim[t]) / self.dt
        slow = goal - self.speed[t]
        for h in range(HIDDEN):
            total = self.inward[h, 6]
            for k in ti.static(range(2)):
                total += self.inward[h, k] * behind[k] + self.inward[h, k + 2] * slow[k]
                total += self.inward[h, k + 4] * goal[k]
            self.hidden[t, h] = ti.tanh(total)
        for k in range(ELECTRODES):
            charge = self.outward[k, HIDDEN]
            for h in range(HIDDEN):
                charge += self.outward[k, h] * self.hidden[t, h]
            self.charge[t, k] = charge

    @ti.kernel
    def begin(self) -> None:
        self.place[0] = self.aim[0]
        self.speed[0] = ti.Vector([0.0, 0.0])

    @ti.kernel
    def step(self, number: int) -> None:
        ti.loop_config(serialize=True)
        for t in range(number * SUBSTEPS, (number + 1) * SUBSTEPS):
            x = self.place[t] + 0.5 * self.dt * self.speed[t]
            self.decide(t, x)
            force = ti.Vector([0.0, 0.0])
            for k in range(ELECTRODES):
                difference = x - self.electrode[k]
                force += self.charge[t, k] * difference / (difference.norm_sqr() + HEIGHT**2) ** 1.5
            self.speed[t + 1] = self.speed[t] + self.dt * force
            self.place[t + 1] = x + 0.5 * self.dt * self.speed[t + 1]

    @ti.kernel
    def finish(self) -> None:
        for t in self.place:
            self.loss[None] += (self.place[t] - self.aim[t]).norm_sqr() / self.times

    @ti.kernel
    def energy(self, t: int) -> float:
        """Kinetic and potential energy of the charge."""
        total = 0.5 * self.speed[t].norm_sqr()
        for k in range(ELECTRODES):
            difference = self.place[t] - self.electrode[k]
            total += self.charge[0, k] / ti.sqrt(difference.norm_sqr() + HEIGHT**2)
        return total

    def verify(self) -> Comparison:
        outward = self.outward.to_numpy()
        steady = np.zeros_like(outward)
        steady[:, HIDDEN] = np.linspace(0.05, 0.2, ELECTRODES)
        self.outward.from_numpy(steady)
        self.begin()
        for number in range(self.steps):
            self.step(number)
        first, last = self.energy(0), self.energy(self.times)
        self.outward.from_numpy(outward)
        return Comparison(
            "energy among electrodes that keep their charges", last, first, 1e-2 * first
        )

    def outcome(self) -> Outcome:
        way = np.linalg.norm(self.place.to_numpy() - self.aim.to_numpy(), axis=-1)
        return Outcome("the charge is {} m from its path on average", float(way.mean()), 3)

    def picture(self, size: int, number: int) -> Picture:
        canvas = Canvas(size)
        now = number * SUBSTEPS
        for middle, amount in zip(self.electrode.to_numpy(), self.charge.to_numpy()[now - 1]):
            radius = 0.02 + 0.04 * min(1.0, abs(amount))
            canvas.discs(middle, radius, SKY if amount < 0 else ROSE)
        canvas.path(self.aim.to_numpy(), 0.006, INK)
        way = self.place.to_numpy()[: now + 1]
        canvas.path(way, 0.012, GOLD)
        canvas.discs(way[-1], 0.025, GOLD)
        return canvas.picture()


if __name__ == "__main__":
    from mlirad.examples.__main__ import run_module

    raise SystemExit(run_module("electric"))
