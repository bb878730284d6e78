"""The losses and gradients of the examples, from any number of ranks: PYTHON fits.py FILE."""

from __future__ import annotations

import sys

import numpy as np

import mlirad as ti
from mlirad import dist
from mlirad.examples.ranks.controller import Controller
from mlirad.examples.ranks.particles import Particles
from mlirad.examples.ranks.waves import Waves

dist.init(arch=ti.cpu, default_fp=ti.f64, opt_level=0)
particles = Particles(cells=32, side=12, steps=24)
waves = Waves(cells=24, steps=20)
programs = {"waves": waves, "controller": Controller(steps=30), "particles": particles}
found = {}
before = particles.placed_count
for name, program in programs.items():
    loss, gradient = program.gradient()
    if gradient is not None:
        found[name] = np.append(gradient.reshape(-1), loss)
moved = abs(particles.count[None] - before)
losses = waves.fit(6)
found["memory"] = np.array(waves.height.to_numpy().nbytes)
if dist.rank() == 0:
    np.savez(sys.argv[1], moved=moved, losses=losses, **found)
