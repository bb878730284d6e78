"""Measure tensor expressions on one system: the process that `python -m benchmarks.te` starts.

    python -m benchmarks.te.worker SYSTEM --threads N

For each line of the standard input, the number of a case, it prints the time of a call. It builds a
case when its number comes for the first time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.te.cases import cases

PREFIX = "@@"  # marks our lines among what systems print
SAMPLE_SECONDS, MOST_REPEATS = 0.03, 100


def main() -> None:
    """Measure until the input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.te.worker",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "system",
        metavar="SYSTEM",
        help="system to measure, such as mlirad, numpy, jax or torch",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="COUNT",
        help="number of threads (default: %(default)s)",
    )
    settings = parser.parse_args()
    _prepare(settings.threads)
    module = importlib.import_module(f"benchmarks.te.of_{settings.system}")
    if hasattr(module, "start"):
        module.start(settings.threads)
    clock = time.process_time if settings.threads == 1 else time.perf_counter
    made: dict[int, Callable[[], Any] | None] = {}
    listed = cases()
    for line in sys.stdin:
        number, found = int(line), {}
        if number not in made:
            began = time.process_time()
            made[number] = run = module.program(listed[number])
            if run is not None:
                found = {"digest": _digest(run()), "first": time.process_time() - began}
        run = made[number]
        if run is not None:
            found["seconds"] = _least(run, clock)
        print(PREFIX + json.dumps(found), flush=True)
    sys.stdout.flush()
    os._exit(0)  # some systems take long to end


def _prepare(threads: int) -> None:
    """One thread stays on one processor."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _least(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Seconds of the fastest of as many calls as fit in a sample."""
    times = []
    while sum(times) < SAMPLE_SECONDS and len(times) < MOST_REPEATS:
        began = clock()
        run()
        times.append(clock() - began)
    return min(times)


def _digest(results: list[Any]) -> list[float]:
    """Two numbers of each result: its norm, and a projection of it."""
    import numpy as np

    found = []
    for one in results:
        flat = np.asarray(one, np.float64).ravel()
        weights = np.cos(np.arange(flat.size))
        found += [float(np.linalg.norm(flat)), float(flat @ weights)]
    return found


if __name__ == "__main__":
    main()
