"""The memory that a tape takes beside the bytes that it keeps for its reverse.

    python -m benchmarks.tape_memory [--only mpm2d lbm]

Each workload runs in a process of its own, with one thread, and its code comes from the cache on
disk, so that no compiler takes memory. `kept` is what `tape.explain()` reports. `peak` is by how
much the largest resident set exceeds that before the tape, when all fields and gradients have been
written.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.workload import GRADIENT_SIZES

MEGABYTE = 1e6


def main() -> None:
    """Measure the workloads and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tape_memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=list(GRADIENT_SIZES),
        choices=list(GRADIENT_SIZES),
        metavar="WORKLOAD",
        help="workloads to measure (default: all)",
    )
    parser.add_argument(
        "--larger",
        type=int,
        default=1,
        metavar="FACTOR",
        help="factor for the size of each workload (default: %(default)s)",
    )
    settings = parser.parse_args()
    print("| workload | size | kept, MB | peak, MB | peak / kept |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in settings.only:
            size = GRADIENT_SIZES[name].full * settings.larger
            command = [sys.executable, "-c", _CHILD, name, str(size), folder]
            for _ in range(2):  # the first fills the cache
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            kept, peak = json.loads(output.splitlines()[-1])
            ratio = f"{peak / kept:.2f}" if kept >= MEGABYTE else "–"
            row = f"{kept / MEGABYTE:.1f} | {peak / MEGABYTE:.1f} | {ratio}"
            print(f"| `{name}` | {size:,} | {row} |", flush=True)


_CHILD = """
import sys
from benchmarks.tape_memory import measure
measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])
"""


def measure(name: str, size: int, folder: str) -> None:
    """Print the bytes that a workload's tape keeps, and the growth of the process, as JSON."""
    import mlirad as ti

    ti.init(
        default_fp=ti.f32,
        cpu_max_num_threads=1,
        offline_cache=True,
        offline_cache_file_path=folder,
    )
    made = importlib.import_module(f"benchmarks.workloads.{name}").build(ti, size)
    made.reset()
    made.loss[None] = 0.0
    made.forward()
    _touch_gradients(ti)
    made.reset()
    made.loss[None] = 0.0
    gc.collect()
    restart_peak()
    before = resident("VmRSS")
    tape = ti.ad.Tape(made.loss)
    with tape:
        made.forward()
    print(json.dumps([tape.explain().bytes, resident("VmHWM") - before]))


def _touch_gradients(ti: Any) -> None:
    """Write to the memory of all gradients: a page takes memory from its first write on."""
    from mlirad.runtime.program import program

    for gradient in program().derivatives.gradients.values():
        gradient.fill(0.0)


def restart_peak() -> None:
    """Measure the largest resident set, `VmHWM`, from now on."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def resident(name: str) -> int:
    """Bytes of `VmRSS`, the memory that the process occupies, or of `VmHWM`, the most so far."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
