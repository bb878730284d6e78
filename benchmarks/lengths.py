"""Measure how long kernels of many statements take to compile, and how this time grows.

    python -m benchmarks.lengths [--kinds sines products mixed] [--statements 400 800 1600 3200]

Each kernel runs in its own process. Its time is the processor time of a first call without that of
a second call, divided by what it was spent on. The first call of the primal comes before the tape
whose gradient is measured. The factor to the next shorter kernel follows in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mlirad as ti
from benchmarks.length_programs import KINDS, compiled
from mlirad.pipeline import runner
from mlirad.pipeline.registry import pass_names
from mlirad.runtime.native import machine_code

LENGTHS = (400, 800, 1600, 3200)
FRONTEND, OURS, UPSTREAM, LLVM = PARTS = ("frontend", "ours", "upstream", "LLVM")
Times = dict[str, float]  # seconds by pass, LLVM's, and those of all


def main() -> None:
    """Print a table for each kind of kernel."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lengths",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=KINDS,
        metavar="KIND",
        help="kinds of statements, any of %(choices)s (default: all)",
    )
    parser.add_argument(
        "--statements",
        nargs="+",
        type=int,
        default=LENGTHS,
        metavar="COUNT",
        help=f"numbers of statements (default: {' '.join(map(str, LENGTHS))})",
    )
    parser.add_argument(
        "--passes",
        type=int,
        default=0,
        metavar="COUNT",
        help="also print the passes that take longest, this many per kernel (default: %(default)s)",
    )
    parser.add_argument(
        "--one",
        nargs=2,
        metavar=("KIND", "STATEMENTS"),
        help="measure a single kernel in this process, and print its times as JSON (default: "
        "all kernels, each in such a process)",
    )
    settings = parser.parse_args()
    if settings.one:
        print(json.dumps(measured(settings.one[0], int(settings.one[1]))))
        return
    for kind in settings.kinds:
        print(f"\n| {kind} | s | {' | '.join(PARTS)} | run, ms |\n|---|---|" + "---|" * 5)
        before: list[Times] = []
        for statements in settings.statements:
            found = _in_a_process(kind, statements)
            for mode, times, last in zip(("primal", "gradient"), found, before or [{}, {}]):
                print(_row(f"{mode}, {statements}", times, last), flush=True)
                for name in sorted(_passes(times), key=lambda name: -times[name])[
                    : settings.passes
                ]:
                    print(f"    {_beside(times, last, name)} {name}")
            before = found


def measured(kind: str, statements: int) -> list[Times]:
    """What compiling the primal and the gradient of a kernel took, and running them."""
    ti.init(cpu_max_num_threads=1)
    kernel, _, loss = compiled(kind, statements)

    def taped() -> None:
        with ti.ad.Tape(loss):
            kernel()

    return [_first_call(run) for run in (kernel, taped)]


def _first_call(run: Callable[[], Any]) -> Times:
    with _passes_timed() as times:
        first = _seconds(run)
    again = min(_seconds(run) for _ in range(5))
    return times | {"all": first - again, "run": 1e3 * again}


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


@contextmanager
def _passes_timed() -> Iterator[Times]:
    """Note the processor time of every run of passes, and of LLVM."""
    times: Times = {}
    started = [0.0]
    compile_pipeline, make_code = runner.compile_pipeline, machine_code._compile

    def begin(name: str, op: object) -> None:
        started[0] = time.process_time()

    def end(name: str, op: object) -> None:
        times[name] = times.get(name, 0.0) + time.process_time() - started[0]

    def watched(*arguments: Any, **options: Any) -> Callable[[], None]:
        options["watchers"] = [runner.Watcher(begin, end, one_by_one=False)]
        return compile_pipeline(*arguments, **options)

    def timed(lowered: Any, *options: Any) -> Any:
        _ = lowered.module  # the last passes
        begin(LLVM, None)
        made = make_code(lowered, *options)
        end(LLVM, None)
        return made

    runner.compile_pipeline, machine_code._compile = watched, timed
    try:
        yield times
    finally:
        runner.compile_pipeline, machine_code._compile = compile_pipeline, make_code


def _passes(times: Times) -> list[str]:
    return [name for name in times if name not in ("all", "run", LLVM)]


def _parts(times: Times) -> Times:
    ours = sum(times[name] for name in _passes(times) if name in pass_names())
    upstream = sum(times[name] for name in _passes(times) if name not in pass_names())
    rest = times["all"] - ours - upstream - times[LLVM]
    return {FRONTEND: rest, OURS: ours, UPSTREAM: upstream, LLVM: times[LLVM], "all": times["all"]}


def _row(title: str, times: Times, before: Times) -> str:
    now, last = _parts(times), _parts(before) if before else {}
    columns = [_beside(now, last, name) for name in ("all", *PARTS)]
    return f"| {title} | {' | '.join(columns)} | {times['run']:.2f} |"


def _beside(times: Times, before: Times, name: str) -> str:
    """Seconds, and how many times as many as of the kernel before."""
    growth = f" ({times[name] / before[name]:.1f})" if before.get(name) else ""
    return f"{times[name]:.2f}{growth}"


def _in_a_process(kind: str, statements: int) -> list[Times]:
    command = [sys.executable, "-m", "benchmarks.lengths", "--one", kind, str(statements)]
    environment = os.environ | {"MLIRAD_OFFLINE_CACHE": "0"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: list[Times] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
