"""What derivatives cost beside their primal: a tape, forward mode in one and in several directions,
and an `hvp`."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import mlirad as ti
from benchmarks.workload import GRADIENT_SIZES, Workload

DIRECTIONS = (1, 4, 8)
WAYS = ("primal", "tape", "forward", "forward4", "forward8", "hvp")
HEADING = (
    "workload",
    "primal, ms",
    "tape / primal",
    "forward / primal",
    "with clearing and seed",
    "4 directions / 4 passes",
    "8 directions / 8 passes",
    "hvp / primal",
)
FIRST_HEADING = ("workload", "primal, ms", "tape", "forward", "forward, 4", "forward, 8", "hvp")
REPEATS = 3  # programs whose first calls are timed

Timed = tuple[float, float]


@dataclass(frozen=True)
class Ways:
    """Milliseconds of each way to run a workload: all of it, and without clearing, seeding and
    reading of tangents."""

    name: str
    size: int
    whole: dict[str, list[float]]
    launches: dict[str, list[float]]

    def line(self) -> str:
        """A row of the table: by least times, and in brackets by medians."""
        cells = [
            f"{min(self.whole['primal']):.3g} ({statistics.median(self.whole['primal']):.3g})",
            self._ratio(self.whole, "tape"),
            self._ratio(self.launches, "forward"),
            self._ratio(self.whole, "forward"),
            self._ratio(self.launches, "forward4", "forward", 4),
            self._ratio(self.launches, "forward8", "forward", 8),
            self._ratio(self.whole, "hvp"),
        ]
        return _row([f"`{self.name}`, {self.size}", *cells])

    def _ratio(
        self, samples: dict[str, list[float]], way: str, beside: str = "primal", times: int = 1
    ) -> str:
        least = min(samples[way]) / min(samples[beside]) / times
        return (
            f"{least:.2f} "
            f"({statistics.median(samples[way]) / statistics.median(samples[beside]) / times:.2f})"
        )


@dataclass(frozen=True)
class First:
    """Milliseconds of the first call of each way, of which the later ones are taken off:
    translation and compilation."""

    name: str
    milliseconds: dict[str, float]

    def line(self) -> str:
        """A row of the table."""
        return _row([f"`{self.name}`", *(f"{self.milliseconds[way]:.0f}" for way in WAYS)])


def compare_ways(name: str, quick: bool, rounds: int, threads: int) -> Ways:
    """Time all ways to run a workload, one sample of each in turn."""
    ways = _ways(name, quick, threads)
    # before there are fields of more tangents, which all clear
    first = _in_turn(ways, WAYS[:3], rounds)
    later = _in_turn(ways, WAYS, rounds)
    return Ways(
        name,
        _size(name, quick),
        *(
            {
                way: [one[part] for one in (first if way in first and part == 0 else later)[way]]
                for way in WAYS
            }
            for part in range(2)
        ),
    )


def _in_turn(
    ways: dict[str, Callable[[], Timed]], names: Sequence[str], rounds: int
) -> dict[str, list[Timed]]:
    """Samples of some ways, each the second of two runs in a row: what it needs is in the caches as
    far as it fits."""
    found = {way: list[Timed]() for way in names}
    for way in (*names, *names):  # what is given more tangents is compiled anew
        ways[way]()
    for number in range(rounds):
        for way in names if number % 2 == 0 else reversed(names):
            ways[way]()
            found[way].append(ways[way]())
    return found


def compare_first_calls(name: str, quick: bool, threads: int) -> First:
    """Time the first call of each way, in programs of their own; the least of some."""
    found = {way: list[float]() for way in WAYS}
    for _ in range(REPEATS):
        ways = _ways(name, quick, threads)
        for way in WAYS:
            first = ways[way]()[0]
            found[way].append(first - ways[way]()[0])
    return First(name, {way: min(found[way]) for way in WAYS})


def _size(name: str, quick: bool) -> int:
    return GRADIENT_SIZES[name].quick if quick else GRADIENT_SIZES[name].full


def _ways(name: str, quick: bool, threads: int) -> dict[str, Callable[[], Timed]]:
    """The workload in a new program, as functions that give milliseconds: of everything, and of the
    launches alone."""
    ti.init(default_fp=ti.f32, cpu_max_num_threads=threads)
    made: Workload = importlib.import_module(f"benchmarks.workloads.{name}").build(
        ti, _size(name, quick)
    )
    random = np.random.default_rng(41)
    seeds = {
        count: [
            random.standard_normal((count, *one.shape, *one.element_shape)).astype(np.float32)
            for one in made.inputs
        ]
        for count in DIRECTIONS
    }
    once = [seed[0] for seed in seeds[1]]

    def primal() -> Timed:
        return _timed(made, lambda: _milliseconds(made.forward))

    def tape() -> Timed:
        def run() -> float:
            with ti.ad.Tape(made.loss):
                return _milliseconds(made.forward)

        return _timed(made, run)

    def forward(count: int) -> Timed:
        def run() -> float:
            with ti.ad.FwdMode(made.loss, made.inputs, seeds[count]):
                return _milliseconds(made.forward)

        return _timed(made, run)

    def hvp() -> Timed:
        start = time.perf_counter()
        ti.ad.hvp(lambda: _forward(made), made.loss, made.inputs, once)
        whole = (time.perf_counter() - start) * 1e3
        return whole, whole

    return {
        "primal": primal,
        "tape": tape,
        "forward": lambda: forward(1),
        "forward4": lambda: forward(4),
        "forward8": lambda: forward(8),
        "hvp": hvp,
    }


def _forward(made: Workload) -> None:
    made.reset()
    made.forward()


def _timed(made: Workload, run: Callable[[], float]) -> Timed:
    """Milliseconds of a run from clear memory, and those that it gives."""
    start = time.perf_counter()
    made.reset()
    made.loss[None] = 0.0
    launches = run()
    return (time.perf_counter() - start) * 1e3, launches


def _milliseconds(function: Callable[[], None]) -> float:
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def table(heading: Sequence[str]) -> str:
    """The first two lines of a table."""
    return "\n".join([_row(heading), "|" + "---|" * len(heading)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
