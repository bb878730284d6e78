"""Train a controller that balances pendulums, on 64 scenes that are distributed over ranks.

    mpiexec -n 4 python -m mlirad.examples.ranks.controller

Every rank has the weights of rank 0 (`bcast`, whose adjoint is the sum of the gradients of all
ranks) and simulates its share of the scenes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad import dist
from mlirad.examples.ranks.fitting import Array, Fitted, run

SCENES, HIDDEN = 64, 12
DT, GRAVITY = 0.05, 9.8


@ti.data_oriented
class Controller(Fitted):
    """A network of one hidden layer that sees angle and speed, and gives a torque."""

    rate, iterations = 0.05, 60

    def __init__(self, steps: int = 60) -> None:
        self.steps = steps
        scenes = np.array_split(np.arange(SCENES), dist.size())[dist.rank()]
        self.count = len(scenes)
        self.weights: Any = ti.field(float, (HIDDEN, 5), needs_grad=True)
        self.start: Any = ti.field(float, (self.count, 2))
        self.part: Any = ti.field(float, (), needs_grad=True)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        every = np.random.default_rng(1).uniform(-0.6, 0.6, (SCENES, 2))  # the same in all ranks
        self.start.from_numpy(every[scenes])
        self.weights.from_numpy(np.random.default_rng(2).normal(0, 0.5, (HIDDEN, 5)))

    @ti.kernel
    def simulate(self) -> None:
        for s in range(self.count):
            angle, speed, cost = self.start[s, 0], self.start[s, 1], 0.0
            for _ in range(self.steps):
                torque = 0.0
                for h in range(HIDDEN):
                    observed = self.weights[h, 0] * ti.sin(angle) + self.weights[h, 1] * ti.cos(
                        angle
                    )
                    observed += self.weights[h, 2] * speed + self.weights[h, 3]
                    torque += self.weights[h, 4] * ti.tanh(observed)
                speed += DT * (GRAVITY * ti.sin(angle) + 10 * torque - 0.1 * speed)
                angle += DT * speed
                cost += angle**2 + 0.1 * speed**2
            self.part[None] += cost / (SCENES * self.steps)

    def run(self) -> None:
        self.part.fill(0)
        dist.bcast(self.weights)
        self.simulate()
        dist.reduce(self.part, self.loss)

    def parameters(self) -> Array | None:
        return self.weights.to_numpy() if dist.rank() == 0 else None

    def set_parameters(self, values: Array | None) -> None:
        if values is not None:
            self.weights.from_numpy(values)

    def gathered_gradient(self) -> Array | None:
        return self.weights.grad.to_numpy() if dist.rank() == 0 else None


if __name__ == "__main__":
    run(Controller)
