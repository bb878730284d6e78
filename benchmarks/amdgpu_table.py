"""Print a table of the code that our workloads have on AMD's GPUs, one row per kernel.

    python -m benchmarks.amdgpu_table [--chips gfx90a,gfx942,gfx1100] [--only nbody]

This needs neither a GPU nor a tool of ROCm: the counts are comments in the assembly that LLVM
writes. Each workload is launched once on the CPU, which compiles its kernels.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from benchmarks.ptx_table import run_workload
from benchmarks.workload import GRADIENT_SIZES
from mlirad.errors import TaichiCompilationError

HEADING = (
    "kernel",
    "vector registers",
    "scalar registers",
    "spilled",
    "scratch",
    "shared",
    "atomics",
    "vector accesses",
    "instructions",
)


@dataclass(frozen=True)
class Kernel:
    """One kernel for one chip, as LLVM describes it."""

    name: str
    vector_registers: int
    scalar_registers: int
    spilled: int  # registers, of both kinds
    scratch: int  # bytes of a thread
    shared: int  # bytes of a block
    wave: int  # threads
    instructions: tuple[str, ...]

    @property
    def atomics(self) -> list[str]:
        """The atomic instructions, in order."""
        return [name for name in self.instructions if "_atomic_" in name]


def kernels_of(text: str) -> list[Kernel]:
    """The kernels of an assembly text, in the order of their names."""
    described = text.partition("amdhsa.kernels:")[2].partition("\namdhsa.")[0]
    notes = described.split("\n  - ")[1:]
    return sorted((_kernel(note, text) for note in notes), key=lambda kernel: kernel.name)


def _kernel(note: str, text: str) -> Kernel:
    def count(name: str) -> int:
        match = re.search(rf"\.{name}:\s+(\d+)", note)
        assert match is not None, name
        return int(match[1])

    named = re.search(r"\n    \.name:\s+(\S+)", note)
    assert named is not None
    body = re.search(rf"^{named[1]}:\n(.*?)^\t\.section", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    return Kernel(
        named[1],
        count("vgpr_count"),
        count("sgpr_count"),
        count("vgpr_spill_count") + count("sgpr_spill_count"),
        count("private_segment_fixed_size"),
        count("group_segment_fixed_size"),
        count("wavefront_size"),
        tuple(re.findall(r"^\t([a-z]\w+)", body[1], re.MULTILINE)),
    )


def main() -> None:
    """Run the command line."""
    settings = _settings()
    for chip in settings.chips.split(","):
        print(f"\n{chip}\n\n{_line(HEADING)}\n{_line(['-'] * len(HEADING))}")
        for name in settings.only or GRADIENT_SIZES:
            for title, codes, mode in run_workload(name):
                try:
                    kernels = kernels_of(codes.stages.amdgpu(mode, chip))
                except TaichiCompilationError as error:
                    print(_line([title, str(error).partition("\n")[0]]))
                    continue
                for kernel in kernels:
                    print(_line(row(title, kernel)), flush=True)


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.amdgpu_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--chips",
        default="gfx942",
        metavar="CHIP,...",
        help="chips, with a table for each (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORKLOAD",
        choices=list(GRADIENT_SIZES),
        help="workload, one of %(choices)s; may be repeated (default: all)",
    )
    return parser.parse_args()


def row(title: str, kernel: Kernel) -> list[str]:
    """A line of the table."""
    wide = [
        name for name in kernel.instructions if re.search(r"global_.*(x[248]|_b(64|96|128))", name)
    ]
    counts = (
        kernel.vector_registers,
        kernel.scalar_registers,
        kernel.spilled,
        kernel.scratch,
        kernel.shared,
        len(kernel.atomics),
        len(wide),
        len(kernel.instructions),
    )
    return [f"{title}: {kernel.name}", *map(str, counts)]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
