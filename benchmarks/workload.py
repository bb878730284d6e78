"""What a workload is: launches that compute a loss, and the fields whose gradients are asked
for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Workload:
    """`forward` adds to `loss`, which is 0 before it; `reset` clears what `forward` accumulates
    into."""

    forward: Callable[[], None]
    loss: Any
    inputs: list[Any]
    reset: Callable[[], None] = _nothing


def passes_of(ti: Any, workload: Workload) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the primal of a workload, and its primal with the gradient, from the same start."""

    def primal() -> None:
        workload.reset()
        workload.loss[None] = 0.0
        workload.forward()

    def gradient() -> None:
        workload.reset()
        with ti.ad.Tape(workload.loss):
            workload.forward()

    return primal, gradient


@dataclass(frozen=True)
class Sizes:
    """How large a workload is, and how many trips its longest inner loop makes (which some systems
    must be told)."""

    full: int
    quick: int
    inner_trips: Callable[[int], int] = lambda size: 0


SIZES = {
    "saxpy_sum": Sizes(10_000_000, 1_000_000),
    "stencil2d": Sizes(512, 128),
    "mass_spring": Sizes(64, 24),
    "mpm2d": Sizes(8_000, 2_000),
    "mpm_structs": Sizes(8_000, 2_000),
    "mpm_structs_apart": Sizes(8_000, 2_000),
    "streams": Sizes(1_000_000, 100_000),
    "nbody": Sizes(2_048, 512, lambda size: size),
    "ewma": Sizes(10_000, 2_000, lambda size: 256),
    "network": Sizes(4_096, 512, lambda size: 64),
    "black_scholes": Sizes(1_000_000, 100_000),
    "softmax_attention": Sizes(512, 128, lambda size: size),
    "matmul": Sizes(512, 96, lambda size: size),
    "lbm": Sizes(256, 64),
}
# not for Taichi: `break`, in place
GRADIENT_SIZES = {
    **SIZES,
    "ray_march": Sizes(256, 96),
    "diffusion": Sizes(512, 128),
}
