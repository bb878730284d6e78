"""Throw an elastic block through a grid that is distributed over ranks; particles change ranks.

    mpiexec -n 4 python -m mlirad.examples.ranks.particles

MLS-MPM (Hu et al., SIGGRAPH 2018) in two dimensions. Gradients find the velocity of the throw, and
how fast the block stretches along each axis, so that its particles come near a mark. The sums that
particles scatter to cells of other ranks are collected (`Grid.collect`), speeds are exchanged, and
particles that left the cells of their rank migrate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad import dist
from mlirad.examples.ranks.fitting import Array, Fitted, run

DT, STIFFNESS, WALL = 2e-3, 20.0, 3
GOAL = 0.6, 0.6
MIDDLE = 0.4, 0.45  # of the block at the start


@ti.data_oriented
class Particles(Fitted):
    """A block of particles in the unit square."""

    rate, iterations = 0.1, 20

    def __init__(self, cells: int = 32, side: int = 24, steps: int = 80) -> None:
        self.cells, self.steps, self.total = cells, steps, side**2
        self.mass = 1 / self.total
        self.grid = dist.Grid((cells, cells), halo=2)
        rows = self.total  # a rank may come to have all of them
        self.rest, self.x, self.v = (
            ti.Vector.field(2, float, rows, needs_grad=True) for _ in range(3)
        )
        self.affine, self.shape = (
            ti.Matrix.field(2, 2, float, rows, needs_grad=True) for _ in range(2)
        )
        self.count: Any = ti.field(int, ())
        self.owner: Any = ti.field(int, rows)
        self.weight: Any = self.grid.field(float, needs_grad=True)
        self.momentum, self.speed = (self.grid.vector(2, float, needs_grad=True) for _ in range(2))
        self.thrown: Any = ti.field(float, 4, needs_grad=True)
        self.part: Any = ti.field(float, (), needs_grad=True)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.owners: Any = ti.field(int, (cells, cells))
        for i, j in np.ndindex(cells, cells):
            self.owners[i, j] = self.grid.owner(i, j)
        self.thrown.from_numpy(np.array([1.0, 0.5, 3.0, -2.0]))
        x, y = (np.mgrid[:side, :side] + 0.5) / side * 0.2
        points = np.stack([x + 0.3, y + 0.35], -1).reshape(-1, 2)
        local = [p for p in points if self.grid.owner(*(int(c * cells) for c in p)) == dist.rank()]
        self.placed = np.zeros((rows, 2))
        self.placed[: len(local)] = np.reshape(local, (-1, 2))
        self.placed_count = len(local)

    @ti.kernel
    def throw(self) -> None:
        for p in range(self.count[None]):
            self.x[p] = self.rest[p]
            stretch = ti.Vector([self.thrown[2], self.thrown[3]])
            middle = ti.Vector([MIDDLE[0], MIDDLE[1]])
            self.v[p] = ti.Vector([self.thrown[0], self.thrown[1]])
            self.v[p] += stretch * (self.rest[p] - middle)
            self.affine[p] = ti.Matrix.zero(float, 2, 2)
            self.shape[p] = ti.Matrix.identity(float, 2)

    @ti.kernel
    def clear(self) -> None:
        for cell in ti.grouped(self.weight):
            self.weight[cell] = 0.0
            self.momentum[cell] = ti.Vector([0.0, 0.0])

    @ti.func
    def spread(self, x: Any) -> Any:
        base = ti.cast(x * self.cells - 0.5, int)
        return base, x * self.cells - ti.cast(base, float)

    @ti.kernel
    def to_grid(self) -> None:
        for p in range(self.count[None]):
            base, near = self.spread(self.x[p])
            w = [0.5 * (1.5 - near) ** 2, 0.75 - (near - 1.0) ** 2, 0.5 * (near - 0.5) ** 2]
            f = (ti.Matrix.identity(float, 2) + DT * self.affine[p]) @ self.shape[p]
            self.shape[p] = f
            stress = STIFFNESS * (f @ f.transpose() - ti.Matrix.identity(float, 2))
            spin = -DT * 4 * self.cells**2 * 0.04 * self.mass * stress + self.mass * self.affine[p]
            for a, b in ti.static(ti.ndrange(3, 3)):
                distance = (ti.Vector([float(a), float(b)]) - near) / self.cells
                weight = w[a][0] * w[b][1]
                cell = base + ti.Vector([a, b])
                self.momentum[cell] += weight * (self.mass * self.v[p] + spin @ distance)
                self.weight[cell] += weight * self.mass

    @ti.kernel
    def move_grid(self) -> None:
        for i, j in ti.ndrange(*self.grid.local):
            v = ti.Vector([0.0, 0.0])
            if self.weight[i, j] > 0:
                v = self.momentum[i, j] / self.weight[i, j]
            is_wall = i < WALL or j < WALL or i >= self.cells - WALL or j >= self.cells - WALL
            self.speed[i, j] = ti.Vector([0.0, 0.0]) if is_wall else v

    @ti.kernel
    def to_particles(self) -> None:
        for p in range(self.count[None]):
            base, near = self.spread(self.x[p])
            w = [0.5 * (1.5 - near) ** 2, 0.75 - (near - 1.0) ** 2, 0.5 * (near - 0.5) ** 2]
            v, affine = ti.Vector([0.0, 0.0]), ti.Matrix.zero(float, 2, 2)
            for a, b in ti.static(ti.ndrange(3, 3)):
                there = w[a][0] * w[b][1] * self.speed[base + ti.Vector([a, b])]
                v += there
                distance = ti.Vector([float(a), float(b)]) - near
                affine += 4 * self.cells * there.outer_product(distance)
            self.v[p] = v
            self.affine[p] = affine
            self.x[p] += DT * v

    @ti.kernel
    def find_owners(self) -> None:
        for p in range(self.count[None]):
            cell = ti.cast(self.x[p] * self.cells, int)
            self.owner[p] = self.owners[cell[0], cell[1]]

    @ti.kernel
    def measure(self) -> None:
        for p in range(self.count[None]):
            miss = self.x[p] - ti.Vector([GOAL[0], GOAL[1]])
            self.part[None] += self.mass * miss.dot(miss)

    def step(self) -> None:
        """The next state."""
        self.clear()
        self.to_grid()
        self.grid.collect(self.weight, self.momentum)
        self.move_grid()
        self.grid.exchange(self.speed)
        self.to_particles()
        self.find_owners()
        dist.migrate(self.count, self.owner, self.x, self.v, self.affine, self.shape)

    def run(self) -> None:
        self.part.fill(0)
        dist.bcast(self.thrown)
        self.throw()
        for _ in dist.checkpointed(
            range(self.steps),
            state=[self.count, self.owner, self.x, self.v, self.affine, self.shape],
            scratch=[self.weight, self.momentum, self.speed],
            snapshots=12,
        ):
            self.step()
        self.measure()
        dist.reduce(self.part, self.loss)

    def gradient(self) -> tuple[float, Array | None]:
        self.rest.from_numpy(self.placed)
        self.count[None] = self.placed_count
        return super().gradient()

    def parameters(self) -> Array | None:
        return self.thrown.to_numpy() if dist.rank() == 0 else None

    def set_parameters(self, values: Array | None) -> None:
        if values is not None:
            self.thrown.from_numpy(values)

    def gathered_gradient(self) -> Array | None:
        return self.thrown.grad.to_numpy() if dist.rank() == 0 else None


if __name__ == "__main__":
    run(Particles)
