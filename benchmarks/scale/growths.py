"""What grows in each workload, and how the time of its algorithm grows with that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.workload import GRADIENT_SIZES

PARTICLES = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000, 4_000_000, 10_000_000)
SIDES = (64, 128, 256, 512, 1024, 2048, 4096)
STEPS = (10, 40, 160, 640, 2_500, 10_000)
FEW_STEPS = 10


def _same(size: int) -> int:
    return size


def _square(side: int) -> int:
    return side * side


@dataclass(frozen=True)
class Growth:
    """A workload, the sizes that it is measured at, and the exponent of its algorithm in `what`,
    of which `count` gives the number at a size.

    Where the steps grow, the size is that of `size`; else the steps are those of `steps`, 0 for the
    workload's own. `plan` is what keeps the tape of a program of `benchmarks.budget_programs`
    small, and is empty for a workload."""

    workload: str
    what: str
    sizes: tuple[int, ...]
    exponent: float = 1.0
    count: Callable[[int], int] = _same
    steps: int = 0
    size: int = 0
    plan: str = ""

    @property
    def title(self) -> str:
        """The name of its row."""
        return f"{self.workload}, {self.plan}" if self.plan else self.workload

    @property
    def grows_in_steps(self) -> bool:
        """Whether the size stays."""
        return self.what == "steps"

    def arguments(self, number: int) -> tuple[int, int]:
        """The size and the steps of one of `sizes`."""
        return (self.size, number) if self.grows_in_steps else (number, self.steps)


def _cells(workload: str, steps: int = 0) -> Growth:
    return Growth(workload, "cells", SIDES, count=_square, steps=steps)


def _in_steps(workload: str, size: int) -> Growth:
    return Growth(workload, "steps", STEPS, size=size)


# how a tape keeps little: everything, a part of it, or about the root of the steps in states
PLANS = ("everything", "a tenth", "root", "checkpointed")
_ROWS = (
    *(Growth(name, "elements", PARTICLES) for name in ("copy", "saxpy_sum", "black_scholes")),
    Growth("streams", "particles", PARTICLES),
    *(Growth(name, "rows", PARTICLES) for name in ("ewma", "network")),
    *(
        Growth(name, "particles", PARTICLES, steps=FEW_STEPS)
        for name in ("mpm2d", "mpm_structs", "mpm_structs_apart")
    ),
    Growth("mass_spring", "bodies", SIDES, count=_square, steps=FEW_STEPS),
    *(_cells(name, FEW_STEPS) for name in ("stencil2d", "diffusion")),
    _cells("lbm", 4),
    *(_cells(name) for name in ("ray_march", "conv2d")),
    Growth("nbody", "bodies", (512, 2_048, 8_192, 32_768, 131_072), exponent=2),
    Growth("softmax_attention", "rows", (64, 256, 1024, 4096, 8192), exponent=2),
    Growth("matmul", "rows", SIDES, exponent=3),
    *(
        _in_steps(name, size)
        for name, size in (
            ("stencil2d", 32),
            ("mass_spring", 8),
            ("mpm2d", 64),
            ("mpm_structs", 64),
            ("lbm", 16),
            ("diffusion", 16),
        )
    ),
    *(
        Growth(name, "steps", STEPS, plan=plan)
        for name in ("gru", "fluid", "chain")
        for plan in PLANS
    ),
)
GROWTHS = {f"{growth.title} by {growth.what}": growth for growth in _ROWS}
missing = set(GRADIENT_SIZES) - {growth.workload for growth in _ROWS}
assert not missing, f"workloads that do not grow: {missing}"
