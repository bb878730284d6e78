"""Find a heat source from four thermometers, with torch.

    python -m mlirad.examples.inverse.heat_source

torch computes the source from its place and its power, mlirad simulates 400 steps of heat
conduction in place, and torch compares the temperatures. The gradient passes back through all
three. The loop saves 20 of 400 states, and recomputes the others (`ti.ad.checkpointed`).
"""

from typing import Any

import torch

import mlirad as ti

CELLS, STEPS, SNAPSHOTS = 32, 400, 20
WIDTH = 0.08  # of the source
SENSORS = torch.tensor([[6, 6], [6, 25], [25, 6], [25, 25]])
TRUE = torch.tensor([0.62, 0.37, 1.5], dtype=torch.float64)  # x, y, power

ti.init(default_fp=ti.f64)
heating: Any = ti.field(ti.f64, (CELLS, CELLS), needs_grad=True)
heat: Any = ti.field(ti.f64, (CELLS, CELLS), needs_grad=True)
change: Any = ti.field(ti.f64, (CELLS, CELLS), needs_grad=True)


@ti.kernel
def conduct() -> None:
    for i, j in change:
        change[i, j] = 0.01 * heating[i, j]
        if 0 < i < CELLS - 1 and 0 < j < CELLS - 1:
            around = heat[i - 1, j] + heat[i + 1, j] + heat[i, j - 1] + heat[i, j + 1]
            change[i, j] += 0.2 * (around - 4 * heat[i, j])


@ti.kernel
def add() -> None:
    for i, j in heat:
        if 0 < i < CELLS - 1 and 0 < j < CELLS - 1:  # the edges stay cold
            heat[i, j] += change[i, j]


def spread() -> None:
    """Let heat spread from a cold plate."""
    heat.fill(0)
    steps = range(STEPS)
    for _ in ti.ad.checkpointed(steps, state=[heat], scratch=[change], snapshots=SNAPSHOTS):
        conduct()
        add()


def source(guess: torch.Tensor) -> torch.Tensor:
    """Return the heating of each cell: a bell at a place, with a power."""
    middles = (torch.arange(CELLS, dtype=torch.float64) + 0.5) / CELLS
    x, y = torch.meshgrid(middles, middles, indexing="ij")
    distance = (x - guess[0]) ** 2 + (y - guess[1]) ** 2
    return guess[2] * torch.exp(-distance / (2 * WIDTH**2))


if __name__ == "__main__":
    temperatures = ti.ad.program(spread, inputs=heating, output=heat).torch()
    measured = temperatures(source(TRUE))[SENSORS[:, 0], SENSORS[:, 1]]
    guess = torch.tensor([0.5, 0.5, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([guess], lr=0.02)
    print("true: x = 0.620, y = 0.370, power = 1.500")
    for number in range(151):
        optimizer.zero_grad()
        error = temperatures(source(guess))[SENSORS[:, 0], SENSORS[:, 1]] - measured
        (error**2).mean().backward()
        if number % 50 == 0:
            x, y, power = guess.tolist()
            print(f"step {number}: x = {x:.3f}, y = {y:.3f}, power = {power:.3f}")
        optimizer.step()
