"""Print a table of the GPU code of our workloads, one row per kernel, next to code written by hand.

    python -m benchmarks.ptx_table [--chips sm_80,sm_90,sm_100] [--beside by_hand.cu] [--only nbody]

This needs ptxas, and no GPU; with nvdisasm, loops are counted in instructions of the chip. Each
workload is launched once on the CPU, which compiles its kernels.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mlirad as ti
from benchmarks.assembler import Assembled, assemble, compile_cuda
from benchmarks.workload import GRADIENT_SIZES
from mlirad.pipeline.mode import Mode
from mlirad.runtime.program import program

HEADING = (
    "kernel",
    "registers",
    "spilled",
    "local",
    "shared",
    "atomics",
    "vector accesses",
    "loads",
    "stores",
    "instructions",
    "innermost loops",
)


@dataclass(frozen=True)
class Text:
    """The PTX of one mode of one kernel."""

    title: str
    ptx: str


def main() -> None:
    """Run the command line."""
    settings = _settings()
    for chip in settings.chips.split(","):
        print(f"\n{chip}\n\n{_line(HEADING)}\n{_line(['-'] * len(HEADING))}")
        for text in _texts(settings, chip):
            for kernel in assemble(text.ptx):
                print(_line(row(text, kernel)), flush=True)


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ptx_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--chips",
        default="sm_90",
        metavar="CHIP,...",
        help="chips, with a table for each (default: %(default)s)",
    )
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="FILE",
        help="CUDA C++ file to compile with nvcc and to compare with (default: none)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORKLOAD",
        choices=list(GRADIENT_SIZES),
        help="workload, one of %(choices)s; may be repeated (default: all)",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FOLDER",
        help="existing folder to which the PTX is written (default: it is not written)",
    )
    return parser.parse_args()


def _texts(settings: argparse.Namespace, chip: str) -> Iterator[Text]:
    if settings.beside is not None:
        try:
            yield Text("by hand", compile_cuda(settings.beside, chip))
        except RuntimeError as error:  # it may use what the chip has not
            print(f"{settings.beside} is not for {chip}: {error}", file=sys.stderr)
    for name in settings.only or GRADIENT_SIZES:
        for text in workload_texts(name, chip):
            if settings.write is not None:
                (settings.write / f"{text.title.replace(' ', '_')}.{chip}.ptx").write_text(text.ptx)
            yield text


def workload_texts(name: str, chip: str) -> Iterator[Text]:
    """Every kernel of a workload at its full size, primal and reverse."""
    for title, codes, mode in run_workload(name):
        yield Text(title, codes.stages.ptx(mode, chip))


def run_workload(name: str) -> Iterator[tuple[str, ti.runtime.codes.Codes, Mode]]:
    """Launch a workload at its full size, with its gradient: its kernels, and their modes."""
    ti.init(random_seed=1)
    workload = importlib.import_module(f"benchmarks.workloads.{name}").build(
        ti, GRADIENT_SIZES[name].full
    )
    with ti.ad.Tape(workload.loss):
        workload.forward()
    yield from compiled_modes(name)
    ti.reset()


def compiled_texts(title: str, chip: str) -> Iterator[Text]:
    """Every kernel that the program has compiled, in the modes that were asked for."""
    for heading, codes, mode in compiled_modes(title):
        yield Text(heading, codes.stages.ptx(mode, chip))


def compiled_modes(title: str) -> Iterator[tuple[str, ti.runtime.codes.Codes, Mode]]:
    """What the program has compiled, with a title each."""
    modes: list[tuple[str, Mode, ti.runtime.codes.Codes]] = [
        (codes.stages.kernel.name, mode, codes)
        for codes in program().compiled
        for mode in codes.compiled
        if not mode.is_check
    ]
    for kernel, mode, codes in sorted(modes, key=lambda known: (known[0], str(known[1]))):
        yield f"{title} {kernel} {mode}", codes, mode


def row(text: Text, kernel: Assembled) -> list[str]:
    """A line of the table."""
    found = re.search(rf"\.entry {kernel.name}\b(.*?)^}}", text.ptx, re.MULTILINE | re.DOTALL)
    body = found[1] if found is not None else ""
    loops = sorted(len(loop.split("\n")) for loop in kernel.loops)
    counted = [
        r"\b(atom|red)\.",
        r"\b(ld|st)\.global\S*\.v[248]\.",
        r"\bld\.global",
        r"\bst\.global",
    ]
    return [
        f"{text.title}: {kernel.name}",
        *map(str, (kernel.registers, kernel.spilled, kernel.local, kernel.shared)),
        *(str(len(re.findall(pattern, body))) for pattern in counted),
        str(kernel.instructions or ""),
        " ".join(map(str, reversed(loops))),
    ]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
