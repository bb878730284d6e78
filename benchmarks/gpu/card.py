"""What a card could do at best: how fast its memory copies, as the driver's own copy shows, and how
many instructions it issues."""

from __future__ import annotations

import time
from dataclasses import dataclass

import mlirad as ti
from mlirad.runtime.program import program

LANES = 128  # f32 instructions that a multiprocessor issues at once, since sm_86; 64 before
REPEATS = 10


@dataclass(frozen=True)
class Card:
    """A name, bytes per second that a copy reads and writes together, and f32 instructions per
    second."""

    name: str
    bandwidth: float
    instructions: float


def find_card(arch: str, size: int) -> Card:
    """The card of an architecture, by copies of `size` bytes. Raises TaichiRuntimeError where there
    is none."""
    ti.init(arch=arch, enable_fallback=False)
    driver = program().executor.memory.driver  # type: ignore[attr-defined]
    source, target = driver.allocate(size), driver.allocate(size)
    driver.fill(source, 1, size)
    driver.copy(target, source, size)
    driver.synchronize()
    start = time.perf_counter()
    for _ in range(REPEATS):
        driver.copy(target, source, size)
    driver.synchronize()
    seconds = (time.perf_counter() - start) / REPEATS
    for address in (source, target):
        driver.free(address)
    name, instructions = driver.name, driver.multiprocessors * LANES * driver.clock
    ti.reset()
    return Card(name, 2 * size / seconds, instructions)
