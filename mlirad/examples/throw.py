"""Throw a jelly at a mark: gradients through all time steps, within a memory limit, find its speed.

    python -m mlirad.examples.throw [--particles 1000] [--steps 1024] [--iterations 5]
                                    [--memory 4MB]

The jelly is simulated by a material point method (MLS-MPM, Hu et al., SIGGRAPH 2018), in place:
each step overwrites the state of the step before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlirad as ti

Array = NDArray[np.float64]

CELLS = 32
DX = 1 / CELLS
WALL = 3  # cells
VOLUME = (0.5 * DX) ** 2
STIFFNESS, SHEAR, GRAVITY = 60.0, 40.0, 4.0
SPAN = 0.5  # seconds
STEPS = 256  # at least: sound passes less than a cell a step
MARK = (0.65, 0.35)


@ti.data_oriented
class Jelly:
    """Particles with a velocity field about each, and a deformation; a grid on which they push one
    another."""

    def __init__(self, count: int, steps: int, span: float = SPAN) -> None:
        self.steps, self.dt = steps, span / steps
        self.throw: Any = ti.Vector.field(2, ti.f64, (), needs_grad=True)
        self.start: Any = ti.Vector.field(2, ti.f64, count, needs_grad=True)
        self.x: Any = ti.Vector.field(2, ti.f64, count, needs_grad=True)
        self.v: Any = ti.Vector.field(2, ti.f64, count, needs_grad=True)
        self.affine: Any = ti.Matrix.field(2, 2, ti.f64, count, needs_grad=True)
        self.shape: Any = ti.Matrix.field(2, 2, ti.f64, count, needs_grad=True)
        self.mass: Any = ti.field(ti.f64, (CELLS, CELLS), needs_grad=True)
        self.momentum: Any = ti.Vector.field(2, ti.f64, (CELLS, CELLS), needs_grad=True)
        self.speed: Any = ti.Vector.field(2, ti.f64, (CELLS, CELLS), needs_grad=True)
        self.centre: Any = ti.Vector.field(2, ti.f64, (), needs_grad=True)
        self.loss: Any = ti.field(ti.f64, (), needs_grad=True)
        self.start.from_numpy(
            np.random.default_rng(0).uniform((0.2, 0.35), (0.35, 0.5), (count, 2))
        )
        self.throw[None] = [0.3, 0.5]

    @property
    def state(self) -> list[Any]:
        """The fields that pass from step to step."""
        return [self.x, self.v, self.affine, self.shape]

    @property
    def scratch(self) -> list[Any]:
        """The fields that each step writes again."""
        return [self.mass, self.momentum, self.speed]

    @ti.kernel
    def begin(self) -> None:
        """At rest in itself, and thrown."""
        for p in self.x:
            self.x[p] = self.start[p]
            self.v[p] = self.throw[None]
            self.affine[p] = ti.Matrix.zero(ti.f64, 2, 2)
            self.shape[p] = ti.Matrix.identity(ti.f64, 2)

    @ti.kernel
    def clear(self) -> None:
        """An empty grid."""
        for i, j in self.mass:
            self.mass[i, j] = 0.0
            self.momentum[i, j] = ti.Vector([0.0, 0.0])

    @ti.kernel
    def to_grid(self) -> None:
        """Mass and momentum, and the impulse of the stress."""
        for p in self.x:
            base = ti.cast(self.x[p] / DX - 0.5, ti.i32)
            fx = self.x[p] / DX - ti.cast(base, ti.f64)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            f = (ti.Matrix.identity(ti.f64, 2) + self.dt * self.affine[p]) @ self.shape[p]
            self.shape[p] = f
            kirchhoff = SHEAR * (
                f @ f.transpose() - ti.Matrix.identity(ti.f64, 2)
            ) + STIFFNESS * ti.log(f.determinant()) * ti.Matrix.identity(ti.f64, 2)
            q = VOLUME * self.affine[p] - (self.dt * 4 * VOLUME / DX**2) * kirchhoff
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i][0] * w[j][1]
                distance = (ti.cast(offset, ti.f64) - fx) * DX
                self.momentum[base + offset] += weight * (VOLUME * self.v[p] + q @ distance)
                self.mass[base + offset] += weight * VOLUME

    @ti.kernel
    def move_grid(self) -> None:
        """Velocities, gravity, walls."""
        for i, j in self.mass:
            v = ti.Vector([0.0, 0.0])
            if self.mass[i, j] > 0:
                v = self.momentum[i, j] / self.mass[i, j]
                v[1] -= self.dt * GRAVITY
            if i < WALL or i > CELLS - WALL:
                v[0] = 0.0
            if j < WALL or j > CELLS - WALL:
                v[1] = 0.0
            self.speed[i, j] = v

    @ti.kernel
    def to_particles(self) -> None:
        """Velocities back to the particles, which move."""
        for p in self.x:
            base = ti.cast(self.x[p] / DX - 0.5, ti.i32)
            fx = self.x[p] / DX - ti.cast(base, ti.f64)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            v = ti.Vector([0.0, 0.0])
            c = ti.Matrix.zero(ti.f64, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                near = self.speed[base + ti.Vector([i, j])]
                weight = w[i][0] * w[j][1]
                v += weight * near
                c += (4 / DX) * weight * near.outer_product(ti.Vector([i - fx[0], j - fx[1]]))
            self.v[p] = v
            self.affine[p] = c
            self.x[p] += self.dt * v

    @ti.kernel
    def find_centre(self) -> None:
        """The mean of the positions."""
        for p in self.x:
            self.centre[None] += self.x[p] / self.x.shape[0]

    @ti.kernel
    def compare(self) -> None:
        """Set the loss: the squared distance from the mark."""
        for k in ti.static(range(2)):
            self.loss[None] += (self.centre[None][k] - MARK[k]) ** 2

    def step(self, number: int) -> None:
        """Once to the grid and back."""
        self.clear()
        self.to_grid()
        self.move_grid()
        self.to_particles()

    def fly(self, over: Iterable[int]) -> None:
        """From the throw to the loss."""
        self.centre.fill(0)
        self.begin()
        for number in over:
            self.step(number)
        self.find_centre()
        self.compare()

    def descend(self, memory: int | str) -> Any:
        """Make the throw better; what the checkpointed loop cost."""
        with ti.ad.Tape(self.loss):
            steps = ti.ad.checkpointed(
                range(self.steps), state=self.state, scratch=self.scratch, memory=memory
            )
            self.fly(steps)
        self.throw.from_numpy(self.throw.to_numpy() - 1.5 * self.throw.grad.to_numpy())
        return steps.statistics


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mlirad.examples.throw",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--particles", type=int, default=1000, help="number of particles (default: 1000)"
    )
    parser.add_argument(
        "--steps", type=int, default=1024, help="number of time steps (default: 1024)"
    )
    parser.add_argument("--iterations", type=int, default=5, help="number of throws (default: 5)")
    parser.add_argument(
        "--memory",
        default="4MB",
        help="limit for all states that are saved for the gradient (default: 4MB)",
    )
    settings = parser.parse_args(arguments)
    if min(settings.particles, settings.iterations) < 1 or settings.steps < STEPS:
        parser.error(
            f"--particles and --iterations must be at least 1, and --steps at least {STEPS}: fewer "
            "steps are not stable"
        )
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    jelly = Jelly(settings.particles, settings.steps)
    for number in range(settings.iterations):
        started = time.perf_counter()
        losses = jelly.descend(settings.memory)
        print(
            f"throw {number}: loss {jelly.loss[None]:.6f}, {time.perf_counter() - started:.1f} s, "
            f"{losses.executions} steps run, at most {losses.peak_bytes} bytes in "
            f"{losses.peak_states} states"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
