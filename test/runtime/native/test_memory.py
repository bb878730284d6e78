"""What compiling leaves behind in the memory of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mlirad.host import Feature, has

pytestmark = [
    pytest.mark.skipif(not has(Feature.LOADER), reason="objects are loaded on x86-64 Linux"),
    pytest.mark.cpu_code("the machine code of a CPU"),
]

PROGRAM = """
import gc
import sys
from pathlib import Path

import mlirad as ti
from mlirad.runtime.native import compiler_pages

ti.init(arch=ti.cpu, offline_cache=False)
x = ti.field(ti.f32, 64, needs_grad=True)


def kernel_of(factor):
    @ti.kernel
    def scale():
        for i in x:
            x[i] *= factor

    return scale


def held(kind):
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind))  # KiB


for number in range(8):
    kernel_of(1.0 + number)()
before = held("RssAnon")
compiler_pages._last = float("inf")  # on a busy machine the last launch would give pages back
for number in range(24):
    kernel_of(20.0 + number)()
compiler_pages._last = 0.0
touched = held("RssFile")
compiler_pages.give_back_compiler_pages()
print(held("RssAnon") - before, touched - held("RssFile"))
kernel_of(0.5)()  # finds what it needs again
x.fill(4.0)
kernel_of(0.25)()
assert x[63] == 1.0
"""


def test_memory_of_compiled_kernels(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    grown, given_back = map(int, done.stdout.split())
    assert grown < 24 * 300  # an engine keeps 800 KiB
    assert given_back > 16 << 10
