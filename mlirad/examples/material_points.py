"""A material point method in two or three dimensions, in place: MLS-MPM (Hu et al., SIGGRAPH 2018)
with affine transfers (APIC, Jiang et al., SIGGRAPH 2015).

A walker, a jelly and a liquid say what their stress is, what else pulls at them, and what is
trained. Particles have mass 1 / (their number).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mlirad as ti
from mlirad.examples.training import Simulator

WALL = 3  # cells that nothing enters
GRAVITY = 9.8


class Material(Simulator):
    """Particles, the velocity field and the deformation about each, and the grid on which they
    push one another."""

    friction = 1.0  # the part of the speed along a wall that it takes in a step
    gravity = GRAVITY
    snapshots = 24

    def lay(self, points: NDArray[np.float64], cells: int, dt: float, volume: float) -> None:
        """The state: points in the unit square or cube, which fill a volume."""
        self.count, self.dim = points.shape
        self.cells, self.dt, self.volume = cells, dt, volume / self.count
        self.mass, dim, grid = 1 / self.count, self.dim, (cells,) * self.dim
        self.rest: Any = ti.Vector.field(dim, float, self.count)
        self.x: Any = ti.Vector.field(dim, float, self.count, needs_grad=True)
        self.v: Any = ti.Vector.field(dim, float, self.count, needs_grad=True)
        self.affine: Any = ti.Matrix.field(dim, dim, float, self.count, needs_grad=True)
        self.shape: Any = ti.Matrix.field(dim, dim, float, self.count, needs_grad=True)
        self.weight: Any = ti.field(float, grid, needs_grad=True)
        self.momentum: Any = ti.Vector.field(dim, float, grid, needs_grad=True)
        self.speed: Any = ti.Vector.field(dim, float, grid, needs_grad=True)
        self.loss: Any = ti.field(float, (), needs_grad=True)
        self.rest.from_numpy(points)

    @ti.func
    def stress(self, p: int, f: Any, number: int) -> Any:
        """The Kirchhoff stress of a particle that is deformed."""
        raise NotImplementedError

    @ti.func
    def pull(self, number: int) -> Any:
        """The acceleration of all that is free."""
        down = ti.Vector.zero(float, self.dim)
        down[1] = -self.gravity
        return down

    @ti.func
    def settle(self, f: Any) -> Any:
        """The deformation that remains of a deformation: all of it, in a solid."""
        return f

    @ti.kernel
    def clear(self) -> None:
        """An empty grid."""
        for cell in ti.grouped(self.weight):
            self.weight[cell] = 0.0
            self.momentum[cell] = ti.Vector.zero(float, self.dim)

    @ti.func
    def spread(self, x: Any) -> Any:
        """The first cell that a particle reaches, and its place from there, in cells."""
        base = ti.cast(x * self.cells - 0.5, int)
        return base, x * self.cells - ti.cast(base, float)

    @ti.kernel
    def to_grid(self, number: int) -> None:
        """Masses, momenta, and the impulses of the stress."""
        for p in self.x:
            base, near = self.spread(self.x[p])
            w = [0.5 * (1.5 - near) ** 2, 0.75 - (near - 1.0) ** 2, 0.5 * (near - 0.5) ** 2]
            turned = ti.Matrix.identity(float, self.dim) + self.dt * self.affine[p]
            f = self.settle(turned @ self.shape[p])
            self.shape[p] = f
            impulse = -self.dt * 4 * self.cells**2 * self.volume * self.stress(p, f, number)
            spin = impulse + self.mass * self.affine[p]
            for offset in ti.static(ti.grouped(ti.ndrange(*(3,) * self.dim))):
                weight = 1.0
                for k in ti.static(range(self.dim)):
                    weight *= w[offset[k]][k]
                distance = (ti.cast(offset, float) - near) / self.cells
                self.momentum[base + offset] += weight * (self.mass * self.v[p] + spin @ distance)
                self.weight[base + offset] += weight * self.mass

    @ti.kernel
    def move_grid(self, number: int) -> None:
        """Speeds, what pulls, and walls."""
        for cell in ti.grouped(self.weight):
            v = ti.Vector.zero(float, self.dim)
            if self.weight[cell] > 0:
                v = self.momentum[cell] / self.weight[cell] + self.dt * self.pull(number)
            for k in ti.static(range(self.dim)):
                low, high = cell[k] <= WALL, cell[k] >= self.cells - WALL
                if (low and v[k] < 0) or (high and v[k] > 0):
                    v *= 1 - self.friction
                    v[k] = 0.0
            self.speed[cell] = v

    @ti.kernel
    def to_particles(self) -> None:
        """Speeds back to the particles, which move."""
        for p in self.x:
            base, near = self.spread(self.x[p])
            w = [0.5 * (1.5 - near) ** 2, 0.75 - (near - 1.0) ** 2, 0.5 * (near - 0.5) ** 2]
            v = ti.Vector.zero(float, self.dim)
            affine = ti.Matrix.zero(float, self.dim, self.dim)
            for offset in ti.static(ti.grouped(ti.ndrange(*(3,) * self.dim))):
                weight = 1.0
                for k in ti.static(range(self.dim)):
                    weight *= w[offset[k]][k]
                there = weight * self.speed[base + offset]
                v += there
                distance = ti.cast(offset, float) - near
                affine += 4 * self.cells * there.outer_product(distance)
            self.v[p] = v
            self.affine[p] = affine
            self.x[p] += self.dt * v

    def step(self, number: int) -> None:
        self.clear()
        self.to_grid(number)
        self.move_grid(number)
        self.to_particles()

    def over(self) -> Iterable[int]:
        return ti.ad.checkpointed(
            range(self.steps),
            state=[self.x, self.v, self.affine, self.shape],
            scratch=[self.weight, self.momentum, self.speed],
            snapshots=self.snapshots,
        )
