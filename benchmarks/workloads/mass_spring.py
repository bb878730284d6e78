"""A cloth of springs: forces are scattered to the ends of each spring, then the bodies move."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

STEPS, STIFFNESS, STEP, DRAG, GRAVITY = 100, 40.0, 0.01, 0.99, -2.0


def cloth(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the bodies, and which pairs of them a spring joins, in random order."""
    grid = np.arange(side * side).reshape(side, side)
    joined = [(grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1]), (grid[1:, 1:], grid[:-1, :-1])]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in joined])
    places = (
        np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(
            -1, 2
        )
        * 0.1
    )
    return places, np.random.default_rng(19).permutation(pairs)


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """`size` x `size` bodies."""
    places, pairs = cloth(size)
    bodies, springs = len(places), len(pairs)
    place = ti.Vector.field(2, ti.f32, (steps + 1, bodies), needs_grad=True)
    speed = ti.Vector.field(2, ti.f32, (steps + 1, bodies), needs_grad=True)
    pull = ti.Vector.field(2, ti.f32, (steps, bodies), needs_grad=True)
    length = ti.field(ti.f32, springs, needs_grad=True)
    first, second = ti.field(ti.i32, springs), ti.field(ti.i32, springs)
    loss = ti.field(ti.f32, (), needs_grad=True)
    states = np.zeros((steps + 1, bodies, 2), np.float32)
    states[0] = places
    place.from_numpy(states)
    first.from_numpy(pairs[:, 0].astype(np.int32))
    second.from_numpy(pairs[:, 1].astype(np.int32))
    rest = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
    length.from_numpy(
        (rest * np.random.default_rng(23).uniform(0.9, 1.1, springs)).astype(np.float32)
    )

    @ti.kernel
    def stretch(t: int):
        for s in range(springs):
            a = first[s]
            b = second[s]
            apart = place[t, a] - place[t, b]
            distance = ti.sqrt(apart.dot(apart) + 1e-8)
            force = STIFFNESS * (1.0 - length[s] / distance) * apart
            pull[t, a] -= force
            pull[t, b] += force

    @ti.kernel
    def move(t: int):
        for i in range(bodies):
            later = DRAG * speed[t, i] + STEP * (pull[t, i] + ti.Vector([0.0, GRAVITY]))
            speed[t + 1, i] = later
            place[t + 1, i] = place[t, i] + STEP * later

    @ti.kernel
    def measure():
        for i in range(bodies):
            loss[None] += place[steps, i].norm_sqr() / bodies

    def forward() -> None:
        for t in range(steps):
            stretch(t)
            move(t)
        measure()

    return Workload(forward, loss, [length], lambda: pull.fill(0))
