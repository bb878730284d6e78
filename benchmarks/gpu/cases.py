"""What is measured on a GPU, how large, and the least that any program must move and compute for
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.gpu.card import Card
from benchmarks.workloads import conv2d
from benchmarks.workloads.lbm import STEPS as LBM_STEPS
from benchmarks.workloads.mass_spring import STEPS as CLOTH_STEPS
from benchmarks.workloads.mpm2d import STEPS as MPM_STEPS
from benchmarks.workloads.network import HIDDEN, INPUTS, OUTPUTS
from benchmarks.workloads.softmax_attention import WIDTH

STENCIL_STEPS = 100


@dataclass(frozen=True)
class Least:
    """Bytes to and from memory, each element once, and instructions on f32."""

    bytes: float
    instructions: float = 0.0

    def times(self, factor: float) -> Least:
        """Return so many times as much."""
        return Least(factor * self.bytes, factor * self.instructions)

    def seconds(self, card: Card) -> float:
        """What the card needs for it."""
        return max(self.bytes / card.bandwidth, self.instructions / card.instructions)


@dataclass(frozen=True)
class GpuCase:
    """A workload of `benchmarks.workloads`, its sizes, and what its primal, and primal and gradient
    together, take at least."""

    name: str
    full: int
    quick: int
    primal: Callable[[int], Least]
    gradient: Callable[[int], Least]
    steps: int = 0  # of those that can be told how many

    def size(self, is_quick: bool) -> int:
        """How large it is."""
        return self.quick if is_quick else self.full


def _network(size: int) -> float:
    return size * HIDDEN * (INPUTS + OUTPUTS)


def _conv2d(size: int) -> Least:
    points, window = size * size, conv2d.WINDOW * conv2d.WINDOW
    moved = 4 * points * (conv2d.INPUTS + 2 * conv2d.FILTERS)
    return Least(moved, points * window * conv2d.INPUTS * conv2d.FILTERS)


def _attention(size: int) -> Least:
    return Least(4 * 5 * size * WIDTH, size * size * (2 * WIDTH + 8))


# Of a gradient: what the primal moves, then the values that are needed again, the adjoint of each
# result (read, and cleared where the primal replaced an element) and of each input (read, written).
CASES = (
    GpuCase("copy", 10**8, 10**5, lambda n: Least(8 * n), lambda n: Least((8 + 16) * n)),
    GpuCase("saxpy_sum", 10**8, 10**5, lambda n: Least(8 * n), lambda n: Least((8 + 16) * n)),
    GpuCase(
        "stencil2d",
        4096,
        64,
        lambda n: Least(12 * n * n * STENCIL_STEPS),
        lambda n: Least((12 + 24) * n * n * STENCIL_STEPS),
        STENCIL_STEPS,
    ),
    # a particle has 9 numbers: read by one kernel, written by the other, which reads 2 again
    GpuCase(
        "mpm2d",
        10**6,
        500,
        lambda n: Least(4 * (9 + 9 + 2) * n * MPM_STEPS),
        lambda n: Least(4 * (9 + 9 + 2) * 3 * n * MPM_STEPS),
    ),
    # of a pair: 3 differences, 3 for the square, the root, the sum; its gradient 5 more
    GpuCase(
        "nbody",
        65_536,
        256,
        lambda n: Least(16 * n, 8 * n * n),
        lambda n: Least(40 * n, (8 + 13) * n * n),
    ),
    GpuCase(
        "network",
        65_536,
        256,
        lambda n: Least(4 * (INPUTS + HIDDEN + OUTPUTS) * n, _network(n)),
        lambda n: Least(12 * (INPUTS + HIDDEN + OUTPUTS) * n, 3 * _network(n)),
    ),
    # a product; its gradient is two more
    GpuCase(
        "matmul", 4096, 64, lambda n: Least(16 * n * n, n**3), lambda n: Least(36 * n * n, 3 * n**3)
    ),
    GpuCase("conv2d", 1024, 16, _conv2d, lambda n: _conv2d(n).times(3)),
    # two products, and the exponential function of each pair
    GpuCase("softmax_attention", 8192, 64, _attention, lambda n: _attention(n).times(3)),
    # a body's place, speed and force, read and written; of a spring, of three a body, 12 bytes
    GpuCase(
        "mass_spring",
        512,
        8,
        lambda n: Least((48 + 36) * n * n * CLOTH_STEPS),
        lambda n: Least(3 * (48 + 36) * n * n * CLOTH_STEPS),
    ),
    # nine numbers a cell, read and written in each step
    GpuCase(
        "lbm",
        2048,
        16,
        lambda n: Least(72 * n * n * LBM_STEPS, 150 * n * n * LBM_STEPS),
        lambda n: Least(3 * 72 * n * n * LBM_STEPS, 3 * 150 * n * n * LBM_STEPS),
    ),
)
