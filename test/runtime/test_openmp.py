"""How long threads wait for work before they sleep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes
import mlirad as ti
from mlirad.runtime.executor.openmp import openmp_library

ti.init(arch=ti.cpu, cpu_max_num_threads=2)
x = ti.field(ti.f32, 8)


@ti.kernel
def fill():
    for i in x:
        x[i] = i


fill()
print(ctypes.CDLL(openmp_library()).kmp_get_blocktime())
"""


@pytest.mark.cpu_code("threads of the CPU's code")
@pytest.mark.parametrize(("asked", "found"), [(None, "1"), ("37", "37")])
def test_threads_soon_sleep_unless_the_user_says_how_long(
    asked: str | None, found: str, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    given = {key: value for key, value in os.environ.items() if key != "KMP_BLOCKTIME"}
    if asked is not None:
        given["KMP_BLOCKTIME"] = asked
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, env=given
    )
    assert done.stdout.split() == [found]
