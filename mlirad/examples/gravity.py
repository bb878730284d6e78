"""Simulate two galaxies that pass each other. The forces are the gradient of the potential energy.

    python -m mlirad.examples.gravity [--bodies 1000] [--steps 600] [--output gravity.png]

Writes a picture of the orbits and of the error of the total energy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import mlirad as ti
from mlirad.examples.orbits import draw

Array = NDArray[np.float64]

DURATION = 14.0  # bodies circle their core in 2 to 13
SOFTENING = 0.12  # bodies are fuzzy balls of this radius: close encounters stay finite
CORE, DISK = 1.0, 0.04  # mass of a galaxy's core, and of all its other bodies together
CLOSEST, ECCENTRICITY = 2.4, 0.75  # of the orbit of the two cores about each other


@ti.data_oriented
class Bodies:
    """Masses, positions and velocities, and how they move."""

    def __init__(self, mass: Array, position: Array, velocity: Array) -> None:
        count = len(mass)
        self.mass: Any = ti.field(ti.f64, count)
        self.position: Any = ti.Vector.field(3, ti.f64, count, needs_grad=True)
        self.velocity: Any = ti.Vector.field(3, ti.f64, count)
        self.potential: Any = ti.field(ti.f64, (), needs_grad=True)
        self.mass.from_numpy(mass)
        self.position.from_numpy(position)
        self.velocity.from_numpy(velocity)

    @ti.kernel
    def add_potential(self) -> None:
        """Newton's potential energy of all pairs."""
        for i in self.position:
            for j in range(i):
                difference = self.position[i] - self.position[j]
                self.potential[None] -= (
                    self.mass[i] * self.mass[j] / ti.sqrt(difference.norm_sqr() + SOFTENING**2)
                )

    @ti.kernel
    def kick(self, duration: float) -> None:
        """Change velocities by the forces."""
        for i in self.velocity:
            self.velocity[i] -= duration / self.mass[i] * self.position.grad[i]

    @ti.kernel
    def drift(self, duration: float) -> None:
        """Change positions by the velocities."""
        for i in self.position:
            self.position[i] += duration * self.velocity[i]

    @ti.kernel
    def kinetic(self) -> float:
        """The energy of motion."""
        energy = 0.0
        for i in self.velocity:
            energy += 0.5 * self.mass[i] * self.velocity[i].norm_sqr()
        return energy

    def find_forces(self) -> None:
        """Leave the gradient of the potential energy, minus the forces, in `position.grad`."""
        with ti.ad.Tape(self.potential):
            self.add_potential()

    def step(self, duration: float) -> None:
        """Move on by leapfrog, which is symplectic: the error of the energy stays bounded."""
        self.kick(0.5 * duration)
        self.drift(duration)
        self.find_forces()
        self.kick(0.5 * duration)

    def energy(self) -> float:
        """Kinetic and potential energy, as of the last `find_forces`."""
        return float(self.kinetic()) + float(self.potential[None])


class Run(msgspec.Struct):
    """Positions by step and body, total energies by step."""

    path: Array
    energies: Array

    @property
    def drift(self) -> Array:
        """The relative error of the energy by step."""
        return (self.energies - self.energies[0]) / abs(self.energies[0])


def galaxy(count: int, tilt: float, random: np.random.Generator) -> tuple[Array, Array, Array]:
    """Masses, positions and velocities of a core and bodies that circle it, the disk tilted about
    the x axis."""
    mass = np.full(count, DISK / max(1, count - 1))
    mass[0] = CORE
    radius = np.sqrt(np.linspace(0.35**2, 1.75**2, count - 1))
    angle = random.uniform(0, 2 * np.pi, count - 1)
    inside = CORE * radius**2 / (radius**2 + SOFTENING**2) ** 1.5 + DISK / 2 / radius
    speed = np.sqrt(inside * radius)
    up = np.array([0.0, np.sin(tilt), np.cos(tilt)])
    along = np.array([0.0, np.cos(tilt), -np.sin(tilt)])
    across = np.array([1.0, 0.0, 0.0])
    position, velocity = np.zeros((count, 3)), np.zeros((count, 3))
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    position[1:] = radius[:, None] * (cos * across + sin * along)
    position[1:] += 0.04 * random.standard_normal(count - 1)[:, None] * up
    velocity[1:] = speed[:, None] * (cos * along - sin * across)
    return mass, position, velocity


def encounter(count: int) -> tuple[Bodies, Array]:
    """Two galaxies about to pass each other, and which body belongs to which."""
    random = np.random.default_rng(7)
    halves = [(count + 1) // 2, count // 2]
    galaxies = [galaxy(halves[0], 0.35, random), galaxy(halves[1], -0.8, random)]
    owner = np.repeat([0, 1], halves)
    masses = [stars[0].sum() for stars in galaxies]
    total = sum(masses)
    anomaly = np.radians(-125)
    parameter = CLOSEST * (1 + ECCENTRICITY)
    toward = np.array([np.cos(anomaly), np.sin(anomaly), 0.0])
    distance = parameter / (1 + ECCENTRICITY * np.cos(anomaly)) * toward
    speed = np.sqrt(total / parameter) * np.array(
        [-np.sin(anomaly), ECCENTRICITY + np.cos(anomaly), 0.0]
    )
    for (_, position, velocity), share in zip(galaxies, (masses[1] / total, -masses[0] / total)):
        position += share * distance
        velocity += share * speed
    return Bodies(*(np.concatenate(pieces) for pieces in zip(*galaxies))), owner


def simulate(bodies: Bodies, steps: int) -> Run:
    """Integrate over a number of steps, with a progress bar."""
    bodies.find_forces()
    path, energies = [bodies.position.to_numpy()], [bodies.energy()]
    for _ in tqdm(range(steps), desc="gravity", unit="step"):
        bodies.step(DURATION / steps)
        path.append(bodies.position.to_numpy())
        energies.append(bodies.energy())
    return Run(np.stack(path), np.array(energies))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mlirad.examples.gravity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--bodies",
        type=int,
        default=1000,
        help="number of bodies in both galaxies together (default: 1000)",
    )
    parser.add_argument(
        "--steps", type=int, default=600, help="number of time steps (default: 600)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("gravity.png"),
        help="file for the picture of the orbits (default: gravity.png)",
    )
    settings = parser.parse_args(arguments)
    if settings.bodies < 2 or settings.steps < 1:
        parser.error("--bodies must be at least 2, and --steps at least 1")
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    bodies, owner = encounter(settings.bodies)
    started = time.perf_counter()
    run = simulate(bodies, settings.steps)
    pairs = settings.bodies * (settings.bodies - 1) // 2
    print(
        f"{settings.bodies} bodies, {pairs} pairs, {settings.steps} steps in "
        f"{time.perf_counter() - started:.1f} s"
    )
    print(
        f"energy {run.energies[0]:.6f} -> {run.energies[-1]:.6f}, relative drift "
        f"{run.drift[-1]:.1e}, "
        f"at most {np.abs(run.drift).max():.1e}"
    )
    draw(run.path, run.drift, DURATION, owner, settings.output)
    print(f"orbits: {settings.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
