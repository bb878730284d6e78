"""Measure a workload at one size: the process that `benchmarks.scale` starts for each."""

from __future__ import annotations

import gc
import importlib
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import mlirad as ti
from benchmarks import budget_programs
from benchmarks.scale.growths import Growth
from benchmarks.tape_memory import resident, restart_peak
from benchmarks.workload import Workload
from mlirad.ad.budget.known_plans import KnownPlans
from mlirad.runtime.program import program as current

SECONDS, LEAST, MOST = 1.5, 3, 200  # of the runs of which the fastest counts
PHASES = ("clear", "forward", "reverse")
_SMALL = {"gru": {"units": 4, "rows": 2}, "fluid": {"cells": 8}, "chain": {"count": 64}}


@dataclass
class Sample:
    """Seconds of processor time; bytes of all fields with the most that a tape adds to them, and
    those that the tape kept."""

    number: int  # the size, or the steps
    count: int
    primal: float
    clear: float
    forward: float
    reverse: float
    bytes: int
    kept: int
    again: int = 0  # launches or steps that ran again

    @property
    def tape(self) -> float:
        """Clearing, recording and the reverse."""
        return self.clear + self.forward + self.reverse


def measured(growth: Growth, number: int) -> Sample:
    """Measure one size of a workload in this process, on one thread."""
    ti.init(
        default_fp=ti.f64 if growth.plan else ti.f32, cpu_max_num_threads=1, offline_cache=False
    )
    run = _program(growth, number) if growth.plan else _workload(growth, number)
    primal = _least(run.primal, ["primal"])
    phases = _least(run.taped, PHASES)
    run.last = None
    gc.collect()
    restart_peak()
    before = resident("VmRSS")
    run.taped()
    kept, again = run.kept()
    grown = max(resident("VmHWM") - before, kept) + _bytes_of_fields()
    times = dict(zip(("primal", *PHASES), (*primal, *phases)))
    return Sample(number, growth.count(number), **times, bytes=grown, kept=kept, again=again)


def _bytes_of_fields() -> int:
    """The bytes of all fields and gradients."""
    return sum(memory.elements.nbytes for memory in current().fields.values())


class Run:
    """A program that is measured: each run gives the seconds of its phases."""

    def __init__(
        self,
        loss: Any,
        prepare: Callable[[], None],
        forward: Callable[[], Any],
        memory: int | float | None = None,
    ) -> None:
        self.loss, self.prepare, self.forward, self.memory = loss, prepare, forward, memory
        self.last: Any = None
        self.loop: Any = None

    def primal(self) -> list[float]:
        """Without a tape."""
        self.prepare()
        self.loss[None] = 0.0
        begun = time.process_time()
        self.forward()
        return [time.process_time() - begun]

    def taped(self) -> list[float]:
        """Clearing, recording and the reverse of a tape."""
        self.prepare()
        KnownPlans._of.clear()
        self.last = tape = ti.ad.Tape(self.loss, memory=self.memory)
        times = [time.process_time()]
        with tape:
            times.append(time.process_time())
            self.loop = self.forward()
            times.append(time.process_time())
        times.append(time.process_time())
        return [after - before for before, after in itertools.pairwise(times)]

    def kept(self) -> tuple[int, int]:
        """The bytes that the last tape kept at most, and the launches or steps that it ran
        again."""
        if self.loop is not None:
            noted = self.loop.statistics
            return noted.peak_bytes, noted.executions - noted.steps
        if self.memory is None:
            return self.last.explain().bytes, 0
        budget: Any = self.last.ledger.keeper
        return budget.copies.peak, sum(budget.planner.repeated.values())


def _workload(growth: Growth, number: int) -> Run:
    size, steps = growth.arguments(number)
    build = importlib.import_module(f"benchmarks.workloads.{growth.workload}").build
    made: Workload = build(ti, size, steps) if steps else build(ti, size)
    return Run(made.loss, made.reset, made.forward)


def _program(growth: Growth, steps: int) -> Run:
    program = budget_programs.PROGRAMS[growth.workload](steps=steps, **_SMALL[growth.workload])
    roots = 2 * isqrt(steps) + 2

    def checkpointed() -> Any:
        loops = []

        def over(steps: range) -> Iterable[int]:
            declared = {"state": program.state, "scratch": program.scratch, "snapshots": roots}
            loops.append(ti.ad.checkpointed(steps, **declared))
            return loops[0]

        program.run(over)
        return loops[0]

    def plain() -> None:
        program.run(lambda steps: steps)

    if growth.plan == "checkpointed":
        return Run(program.loss, program.prepare, checkpointed)
    whole = Run(program.loss, program.prepare, plain)
    if growth.plan == "everything":
        return whole
    whole.taped()
    part = 0.1 if growth.plan == "a tenth" else min(1.0, roots / steps)
    return Run(program.loss, program.prepare, plain, part)


def _least(run: Callable[[], list[float]], phases: Iterable[str]) -> list[float]:
    """The least seconds of each phase, over a few runs after a first one that compiles."""
    run()
    begun, runs = time.process_time(), []
    while len(runs) < LEAST or (time.process_time() - begun < SECONDS and len(runs) < MOST):
        runs.append(run())
        if time.process_time() - begun > 4 * SECONDS:
            break
    return [min(times) for times in zip(*runs)]
