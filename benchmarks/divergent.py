"""Time loops that iterations leave after different numbers of trips.

    python -m benchmarks.divergent [--size 512] [--taichi PYTHON]

Each workload runs on mlirad with lanes and without lanes, and on Taichi.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from importlib import import_module

WORKLOADS = ("mandelbrot", "ray_march")
REPEATS = 7


def measure(module: str, name: str, size: int, options: dict[str, int]) -> tuple[float, float]:
    """The milliseconds of one launch, and the loss."""
    ti = import_module(module)
    ti.init(arch=ti.cpu, cpu_max_num_threads=1, **options)
    work = import_module(f"benchmarks.workloads.{name}").build(ti, size)
    times = []
    for _ in range(REPEATS + 1):
        work.loss[None] = 0.0
        start = time.perf_counter()
        work.forward()
        ti.sync()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[1:]), float(work.loss[None])


def main() -> None:
    """Print a line for each workload and way; each in a process of its own."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.divergent",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--size",
        type=int,
        default=512,
        metavar="COUNT",
        help="size of each workload (default: %(default)s)",
    )
    parser.add_argument(
        "--taichi",
        metavar="PYTHON",
        help="interpreter that can import Taichi (default: only mlirad runs)",
    )
    parser.add_argument(
        "--one",
        nargs=3,
        metavar=("MODULE", "NAME", "LANES"),
        help="run a single workload in this process, with a number of lanes or `auto`; the "
        "others start such processes (default: all workloads)",
    )
    arguments = parser.parse_args()
    if arguments.one:
        module, name, lanes = arguments.one
        options = {"lanes": int(lanes)} if lanes != "auto" else {}
        took, loss = measure(module, name, arguments.size, options)
        print(f"{name:12} {module:8} lanes {lanes:5} {took:9.3f} ms  loss {loss:.8g}", flush=True)
        return
    for name in WORKLOADS:
        ways = [(sys.executable, "mlirad", "1"), (sys.executable, "mlirad", "auto")]
        ways += [(arguments.taichi, "taichi", "auto")] if arguments.taichi else []
        for python, module, lanes in ways:
            command = [python, "-m", "benchmarks.divergent", "--size", str(arguments.size)]
            subprocess.run([*command, "--one", module, name, lanes], check=True)


if __name__ == "__main__":
    main()
