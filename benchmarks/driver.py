"""Measure a case on several systems, one sample of each in turn: A B C A B C."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

from benchmarks.systems import System
from benchmarks.worker import PREFIX
from benchmarks.workload import SIZES

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS, TURN_SECONDS = 300.0, 8.0


@dataclass(frozen=True)
class Case:
    """What is measured, how large, on how many threads; `fresh` cases need a new process for every
    sample."""

    name: str
    size: int
    threads: int = 1
    fresh: bool = False
    arch: str = "cpu"
    steps: int = 0  # of workloads that can be told how many

    def arguments(self) -> list[str]:
        """For the worker's command line."""
        trips = SIZES[self.name].inner_trips(self.size) if self.name in SIZES else 0
        return [
            self.name,
            "--size",
            str(self.size),
            "--threads",
            str(self.threads),
            "--inner-trips",
            str(trips),
            "--arch",
            self.arch,
            "--steps",
            str(self.steps),
        ]


@dataclass
class Measured:
    """What a system gave: medians of its samples, its gradient's digest, or why there is
    nothing."""

    samples: list[dict[str, float]] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    error: str = ""

    def median(self, key: str) -> float | None:
        """The median of a quantity over the samples."""
        values = [sample[key] for sample in self.samples if key in sample]
        return float(statistics.median(values)) if values else None


class Failure(Exception):
    """A worker that ended or answered nothing."""


class Worker:
    """A running process that measures."""

    def __init__(self, system: System, case: Case, limit: float | None = None) -> None:
        self.spent = 0.0
        self.is_late = False
        self._limit = self._left = limit
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [
                system.python,
                "-W",
                "ignore",
                "-m",
                "benchmarks.worker",
                system.name,
                *case.arguments(),
                "--started",
                repr(time.time()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            self.found = self._read()
        except Failure:
            self.end()
            raise

    def _kill(self) -> None:
        self.is_late = True
        self.process.kill()

    def sample(self) -> dict[str, float]:
        """One sample. Raises Failure."""
        start = time.perf_counter()
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("sample\n")
            self.process.stdin.flush()
        except OSError:
            raise Failure(self._reason()) from None
        answer = self._read()
        self.spent += time.perf_counter() - start
        return answer

    def _read(self) -> dict[str, Any]:
        """What it says next; it is killed when it has taken longer than it may, all together."""
        if self._left is None:
            return self._next()
        alarm, start = Timer(self._left, self._kill), time.perf_counter()
        alarm.start()
        try:
            return self._next()
        finally:
            alarm.cancel()
            self._left = max(0.0, self._left - (time.perf_counter() - start))

    def _next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(PREFIX):
                answer: dict[str, Any] = json.loads(line[len(PREFIX) :])
                return answer
        raise Failure(self._reason())

    def _reason(self) -> str:
        status = self.process.wait(timeout=READY_SECONDS)
        if self.is_late:
            return f"not done in {self._limit:g} s"
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        return f"exit status {status}: {lines[-1] if lines else 'no message'}"

    def end(self) -> None:
        """Close its input, at which it ends."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if not self.process.stdin.closed:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        self.process.wait(timeout=READY_SECONDS)
        self.process.stdout.close()
        self.errors.close()


def measure(
    case: Case, systems: list[System], rounds: int, limit: float | None = None
) -> dict[str, Measured]:
    """Samples of all systems, in turn; of each what it gives within `limit` seconds."""
    return (
        _measure_fresh(case, systems, rounds)
        if case.fresh
        else _measure_running(case, systems, rounds, limit)
    )


def _measure_running(
    case: Case, systems: list[System], rounds: int, limit: float | None
) -> dict[str, Measured]:
    results = {system.name: Measured() for system in systems}
    workers: dict[str, Worker] = {}
    for system in systems:
        try:
            workers[system.name] = Worker(system, case, limit)
            results[system.name].found = workers[system.name].found
        except Failure as failure:
            results[system.name].error = str(failure)
    for number in range(rounds):
        for name, worker in list(workers.items()):
            if number > 1 and worker.spent > TURN_SECONDS:
                continue
            try:
                results[name].samples.append(worker.sample())
            except Failure as failure:
                if not (worker.is_late and results[name].samples):
                    results[name].error = str(failure)
                workers.pop(name).end()
    for worker in workers.values():
        worker.end()
    return results


def _measure_fresh(case: Case, systems: list[System], rounds: int) -> dict[str, Measured]:
    results = {system.name: Measured() for system in systems}
    for _ in range(rounds):
        for system in systems:
            result = results[system.name]
            if result.error:
                continue
            try:
                worker = Worker(system, case)
                result.found = worker.found
                result.samples.append(worker.sample())
                worker.end()
            except Failure as failure:
                result.error = str(failure)
    return results


def deviation(mine: Measured, other: Measured) -> float | None:
    """How far a gradient is from another, relative to its norm; None where one is missing."""
    left, right = mine.found.get("gradient"), other.found.get("gradient")
    if not left or not right:
        return None
    return max(abs(a - b) for a, b in zip(left, right)) / max(abs(left[0]), 1e-30)
