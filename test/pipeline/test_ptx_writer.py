"""A program where llvmlite is not installed: all but PTX is there."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys

sys.modules["llvmlite"] = None
import mlirad as ti

ti.init(ti.cpu)
x = ti.field(ti.f32, 4)


@ti.kernel
def square():
    for i in x:
        x[i] = i * i


square()
print(x.to_numpy().tolist())
try:
    square.ptx()
except ti.TaichiRuntimeError as error:
    print(error)
"""


def test_ptx_without_llvmlite_names_the_extra(tmp_path: object) -> None:
    program = f"{tmp_path}/program.py"
    with open(program, "w") as file:
        file.write(PROGRAM)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    values, said = done.stdout.splitlines()
    assert values == "[0.0, 1.0, 4.0, 9.0]"
    assert "pip install 'mlirad[ptx]'" in said
