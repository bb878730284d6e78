"""What it costs a program that obeys the access rules that others need not: `rules="save"` beside
`rules="refuse"`."""

from __future__ import annotations

import importlib
import statistics
import time
from dataclasses import dataclass
from typing import Any

import mlirad as ti
from benchmarks.workload import SIZES, Workload

# a wave, springs, a material point method, each indexed by time
INDEXED = (
    "stencil2d",
    "mass_spring",
    "mpm2d",
)
RULES = ("save", "refuse")


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a gradient under each of the two rules, one sample of each in turn, and the
    bytes kept."""

    name: str
    size: int
    samples: dict[str, list[float]]
    kept: int

    def line(self) -> str:
        """A row of the table."""
        best = [min(self.samples[rules]) for rules in RULES]
        middle = [statistics.median(self.samples[rules]) for rules in RULES]
        pairs = statistics.median(a / b for a, b in zip(*(self.samples[rules] for rules in RULES)))
        return (
            f"| `{self.name}`, {self.size} | {best[0]:.3g} / {best[1]:.3g} | {middle[0]:.3g} / "
            f"{middle[1]:.3g} | "
            f"{best[0] / best[1]:.3f} | {pairs:.3f} | {self.kept} |"
        )


def compare_rules(quick: bool, rounds: int, threads: int) -> list[Cost]:
    """Time the gradients of the time-indexed workloads under both rules, in turn."""
    found = []
    for name in INDEXED:
        size = SIZES[name].quick if quick else SIZES[name].full
        ti.init(default_fp=ti.f32, cpu_max_num_threads=threads)
        made = importlib.import_module(f"benchmarks.workloads.{name}").build(ti, size)
        samples: dict[str, list[float]] = {rules: [] for rules in RULES}
        kept = sum(_gradient(made, rules)[1] for rules in RULES)  # compiled, and the memory touched
        for number in range(rounds):
            for rules in RULES if number % 2 == 0 else reversed(RULES):
                samples[rules].append(_gradient(made, rules)[0])
        found.append(Cost(name, size, samples, kept))
    return found


def _gradient(made: Workload, rules: str) -> tuple[float, Any]:
    made.reset()
    start = time.perf_counter()
    with ti.ad.Tape(made.loss, rules=rules) as tape:
        made.forward()
    return (time.perf_counter() - start) * 1e3, tape.explain().bytes


def rules_table(costs: list[Cost]) -> str:
    """The costs as a table."""
    return "\n".join(
        [
            "| workload | ms, least, save / refuse | ms, median, save / refuse | ratio of the "
            "least | "
            "median of the ratios of pairs | bytes kept |",
            "|---|---|---|---|---|---|",
            *(cost.line() for cost in costs),
        ]
    )
