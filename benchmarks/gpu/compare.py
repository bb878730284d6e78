"""Every kernel of `test/programs/gpu_kernels.py`, on an architecture and on the CPU:
`python -m benchmarks.gpu.compare ARCH`; the exit status is 1 where one differs."""

from __future__ import annotations

import sys

import mlirad as ti
from benchmarks.driver import ROOT
from benchmarks.gpu.rehearsal import stub_if_asked


def main(arch: str) -> int:
    """Compare; a line for each kernel that differs, then how many do."""
    sys.path.insert(0, str(ROOT / "test"))
    stub_if_asked()
    from programs.machines import CASES, assert_alike, left_by

    wrong = 0
    for name, mode in CASES:
        try:
            assert_alike(
                left_by(ti.cpu, name, mode), left_by(arch, name, mode, enable_fallback=False)
            )
        except (AssertionError, ti.TaichiRuntimeError, ti.TaichiCompilationError) as error:
            wrong += 1
            print(f"{name}, {mode}: {type(error).__name__}: {error}")
    print(f"{len(CASES) - wrong} of {len(CASES)} kernels leave what the CPU leaves")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
