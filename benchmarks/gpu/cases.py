"""What is measured on a GPU, how large, and the least that any program must move and compute for
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.gpu.card import Card
from benchmarks.workloads.mpm2d import STEPS as MPM_STEPS
from benchmarks.workloads.network import HIDDEN, INPUTS, OUTPUTS

STENCIL_STEPS = 100


@dataclass(frozen=True)
class Least:
    """Bytes to and from memory, each element once, and instructions on f32."""

    bytes: float
    instructions: float = 0.0

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


# Of a gradient: what the primal moves, then the values that are needed again, the adjoint of each
# result (read, and cleared where the primal replaced an element) and of each input (read, written).
CASES = (
    GpuCase("copy", 10**8, 10**5, lambda n: Least(8 * n), lambda n: Least((8 + 16) * n)),
    GpuCase("saxpy_sum", 10**8, 10**5, lambda n: Least(8 * n), lambda n: Least((8 + 24) * n)),
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
)
