"""Compare programs on sparse layouts with other modules that have Taichi's names.

    python -m benchmarks.sparse --peer taichi=PYTHON --threads 1 2

Some of the programs simulate particles. For each system, they print the time per step, the memory,
and a digest of the result, which must be about the same on all systems.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.driver import ROOT
from benchmarks.systems import System, find_systems

PROGRAMS = {
    "blobs": 1024,
    "sparse_mpm": 20_000,
    "hash_grid": 100_000,
    "sph": 50_000,
    "heat_gradient": 512,
    "mpm99": 9_000,
    "mpm128": 9_000,
}
WARM, STEPS, ROUNDS = 3, 10, 3


def main() -> None:
    """Run all programs on all systems, or, as a process of its own, one program on one system."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sparse",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="another module to compare with, and the interpreter that can import it; may be "
        "repeated",
    )
    parser.add_argument(
        "--only",
        choices=PROGRAMS,
        action="append",
        metavar="PROGRAM",
        help="program, one of %(choices)s; may be repeated (default: all)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[1, 2],
        metavar="COUNT",
        help="numbers of threads (default: 1 2)",
    )
    parser.add_argument(
        "--run",
        metavar="SYSTEM",
        help="measure one program on one system in this process, and print the result as JSON "
        "(default: all programs on all systems, each in such a process)",
    )
    settings = parser.parse_args()
    if settings.run:
        print(json.dumps(_measured(settings.run, settings.only[0], settings.threads[0])))
        return
    systems = find_systems(settings.peer)
    for name in settings.only or PROGRAMS:
        for threads in settings.threads:
            rows = {system.name: _asked(system, name, threads) for system in systems}
            print(f"{name}, {PROGRAMS[name]}, {threads} threads")
            for system, row in rows.items():
                print(f"  {system:10} {row}", flush=True)


def _asked(system: System, name: str, threads: int) -> str:
    """What a process of its own says."""
    command = [system.python, "-W", "ignore", "-m", "benchmarks.sparse", "--run", system.name]
    command += ["--only", name, "--threads", str(threads)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}
    )
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    found = json.loads(done.stdout.splitlines()[-1])
    return f"{found['ms']:9.3f} ms a step, {found['MiB']:7.0f} MiB, digest {found['digest']:.7g}"


def _measured(system: str, name: str, threads: int) -> dict[str, Any]:
    """Milliseconds a step, the median of rounds; memory; a digest after so many steps."""
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ti = importlib.import_module(system)
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads, log_level=ti.ERROR, offline_cache=False)
    program = importlib.import_module(f"benchmarks.sparse_programs.{name}")
    step, digest = program.build(ti, PROGRAMS[name])
    for _ in range(WARM):
        step()
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        ti.sync()
        samples.append((time.perf_counter() - start) / STEPS * 1e3)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ms": statistics.median(samples), "MiB": memory, "digest": digest()}


if __name__ == "__main__":
    sys.exit(main())
