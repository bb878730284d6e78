"""Print a table of the launches of our workloads on a GPU: threads, trips of a thread, and bytes.

    python -m benchmarks.gpu.launch_table [--only network] [--size 65536] [--arrays]

A launch with few threads and many trips is slow even if it moves few bytes. The numbers come from
the outlined IR, so no GPU is needed: each workload is launched once on the CPU, which compiles its
kernels.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

import mlirad as ti
from benchmarks.gpu.launch_work import LaunchWork, launches_of
from benchmarks.workload import GRADIENT_SIZES, Sizes
from mlirad.dialect import context
from mlirad.kernel.array_arguments import copy_of
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.gpu import gpu_stages
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.kernels.kernel_ir import KernelIR
from mlirad.runtime.program import program

SIZES = {**GRADIENT_SIZES, "copy": Sizes(10_000_000, 1_000_000)}
BANDWIDTH = 4.2e12  # bytes a second, of an H200
# Of a trip whose loads wait for the L2 or for memory: encode_1 and decode_2 of the network made
# 16,384 trips in 1.93 ms and 4,096 in 0.50 on that card.
TRIP = 120e-9
HEADING = (
    "launch",
    "grid x block",
    "threads",
    "trips",
    "MB asked for",
    "MB at least",
    "operations",
    "µs by bytes",
    "µs by trips",
)


def main() -> None:
    """Run the command line."""
    settings = _settings()
    print(f"{_line(HEADING)}\n{_line(['-'] * len(HEADING))}")
    for name in settings.only or SIZES:
        ti.init(random_seed=1)
        size = settings.size or SIZES[name].full
        workload = importlib.import_module(f"benchmarks.workloads.{name}").build(ti, size)
        with ti.ad.Tape(workload.loss):
            workload.forward()
        for title, launch in _launches():
            print(_line(row(f"{name} {title}", launch)), flush=True)
            for array in launch.arrays if settings.arrays else ():
                print(f"    {array.type}: {array.loads:,} loads, {array.stores:,} stores")
        ti.reset()


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.launch_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORKLOAD",
        choices=list(SIZES),
        help="workload, one of %(choices)s; may be repeated (default: all)",
    )
    parser.add_argument(
        "--size",
        type=int,
        metavar="COUNT",
        help="size of every workload (default: the full size of each)",
    )
    parser.add_argument(
        "--arrays",
        action="store_true",
        help="also print the accesses to each array (default: only launches)",
    )
    return parser.parse_args()


def _launches() -> Iterator[tuple[str, LaunchWork]]:
    """The launches of every kernel that the program has compiled, in the modes it asked for."""
    for codes in program().compiled:
        for mode in codes.compiled:
            if not mode.is_check:
                for launch in kernel_launches(codes.stages, mode):
                    yield f"{mode} {launch.name}", launch


def kernel_launches(kernel: KernelIR, mode: Mode) -> list[LaunchWork]:
    """The launches that a mode of a kernel would make on a GPU."""
    with context(), kernel.kernel.module.operation.location:
        module = copy_of(kernel.kernel.module)
        run_pipeline(module.operation, join(gpu_stages(mode)))
        return launches_of(module.operation)


def row(title: str, launch: LaunchWork) -> list[str]:
    """A line of the table."""
    mark = "" if launch.is_exact else "?"
    return [
        title,
        f"{_shape(launch.blocks)} x {_shape(launch.block)}",
        f"{launch.threads:,}",
        f"{launch.trips:,}{mark}",
        f"{launch.asked_bytes / 1e6:,.1f}{mark}",
        f"{launch.least_bytes / 1e6:,.1f}{mark}",
        f"{launch.operations:.2g}{mark}",
        f"{launch.least_bytes / BANDWIDTH * 1e6:,.1f}",
        f"{launch.trips * TRIP * 1e6:,.1f}",
    ]


def _shape(extents: tuple[int, ...]) -> str:
    return "·".join(map(str, extents)) if any(extent != 1 for extent in extents) else "1"


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
