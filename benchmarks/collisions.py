"""What the check costs that iterations of a parallel loop do not meet: programs that scatter and
gather through an index."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.runtime.kernels.variant import Variant

WAYS = ("checked", "unchecked")


@dataclass(frozen=True)
class Overhead:
    """Milliseconds of a primal, and of a tape with and without its checks."""

    name: str
    size: int
    primal: list[float]
    samples: dict[str, list[float]]

    def line(self) -> str:
        """A row of the table."""
        best = [min(self.samples[way]) for way in WAYS]
        pairs = statistics.median(a / b for a, b in zip(*(self.samples[way] for way in WAYS)))
        return (
            f"| `{self.name}`, {self.size} | {min(self.primal):.3g} | {best[1]:.3g} | "
            f"{best[0]:.3g} | "
            f"{best[0] / best[1]:.2f} | {pairs:.2f} |"
        )


def compare_checks(quick: bool, rounds: int, threads: int) -> list[Overhead]:
    """Time tapes with and without their checks, in turn."""
    size = 100_000 if quick else 1_000_000
    found = []
    for name in ("scatter", "gather", "dense"):
        ti.init(default_fp=ti.f32, cpu_max_num_threads=threads)
        launch, loss = _program(name, size)
        for way in WAYS:
            _gradient(launch, loss, way)
        samples: dict[str, list[float]] = {way: [] for way in WAYS}
        primal = []
        for number in range(rounds):
            primal.append(_time(launch))
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                samples[way].append(_gradient(launch, loss, way))
        found.append(Overhead(name, size, primal, samples))
    return found


def _program(name: str, size: int) -> tuple[Callable[[], None], Any]:
    """Stores through a permutation; values in place from a permutation of others; the same with
    more arithmetic."""
    x, y = (ti.field(ti.f32, size, needs_grad=True) for _ in range(2))
    z, k, loss = (
        ti.field(ti.f32, 2 * size, needs_grad=True),
        ti.field(ti.i32, size),
        ti.field(ti.f32, (), needs_grad=True),
    )
    random = np.random.default_rng(3)
    x.from_numpy(random.random(size).astype(np.float32))
    z.from_numpy(random.random(2 * size).astype(np.float32))
    k.from_numpy(random.permutation(size).astype(np.int32))

    @ti.kernel
    def scatter():
        for i in x:
            y[k[i]] = x[i] ** 2

    @ti.kernel
    def gather():
        for i in x:
            z[i] = 0.5 * z[i] + z[size + k[i]]

    @ti.kernel
    def dense():
        for i in x:
            a = x[i]
            for _ in range(16):
                a = ti.sin(a) + 0.1 * a
            y[k[i]] = a

    @ti.kernel
    def total(a: ti.template()):
        for i in x:
            loss[None] += a[i] * a[i]

    kernel = {"scatter": scatter, "gather": gather, "dense": dense}[name]

    def launch() -> None:
        kernel()
        total(z if name == "gather" else y)

    return launch, loss


def _time(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def _gradient(launch: Callable[[], None], loss: Any, way: str) -> float:
    def taped() -> None:
        with ti.ad.Tape(loss):
            launch()

    if way == "checked":
        return _time(taped)
    with _without_checks():
        return _time(taped)


@contextmanager
def _without_checks() -> Iterator[None]:
    check = Variant.check
    Variant.check = lambda *arguments: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Variant.check = check  # type: ignore[method-assign]


def checks_table(found: list[Overhead]) -> str:
    """The overheads as a table."""
    return "\n".join(
        [
            "| program | primal, ms | tape without the check, ms | with it, ms | ratio of the "
            "least | "
            "median of the ratios of pairs |",
            "|---|---|---|---|---|---|",
            *(one.line() for one in found),
        ]
    )
