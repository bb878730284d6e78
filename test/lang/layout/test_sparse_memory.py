"""A pointer tree of 8,192^3 cells, 10^6 of them written to: memory grows with what is active, with
gradients and a tape too. In a process of its own, whose memory is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import sys
import numpy as np
import mlirad as ti
from mlirad.errors import TaichiMemoryError

ti.init(arch=sys.argv[1])
x, loss, count = ti.field(ti.f32), ti.field(ti.f32, (), needs_grad=True), ti.field(ti.i32, ())
top = ti.root.pointer(ti.ijk, 64)
top.pointer(ti.ijk, 16).dense(ti.ijk, 8).place(x)
ti.root.lazy_grad()
SIDE = 100  # of a cube: 10^6 cells, somewhere in the middle


@ti.kernel
def write(value: ti.f32):
    for i, j, k in ti.ndrange(SIDE, SIDE, SIDE):
        x[4000 + i, 5000 + j, 3000 + k] = value


@ti.kernel
def grow():
    for cell in ti.grouped(x):
        x[cell] = 3.0 * x[cell]


@ti.kernel
def total():
    for cell in ti.grouped(x):
        loss[None] += x[cell]
        count[None] += 1


assert x.shape == (8192, 8192, 8192)
write(3.0)
with ti.ad.Tape(loss):
    grow()
    total()
assert count[None] >= SIDE**3 and loss[None] == 9 * SIDE**3
assert x[4050, 5050, 3050] == 9.0 and x.grad[4050, 5050, 3050] == 3.0
assert x.grad[4050, 5050, 2000] == 0.0 and x[0, 0, 0] == 0.0
try:
    x.to_numpy()
    raise SystemExit("to_numpy of two terabytes")
except TaichiMemoryError as error:
    assert "2048.0 GiB" in str(error)
ti.ad.clear_all_gradients()
assert x.grad[4050, 5050, 3050] == 0.0
x.fill(2.0)
count[None] = 0
with ti.ad.Tape(loss):
    total()
    top.deactivate_all()
    write(1.0)
    total()
assert x.grad[4050, 5050, 3050] == 1.0
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
assert int(peak.split()[1]) < 1 << 20, peak
top.deactivate_all()
count[None] = 0
total()
assert count[None] == 0 and not x[4050, 5050, 3050]
"""


@pytest.mark.parametrize("arch", ["x64", "simt"])
def test_a_pointer_tree_of_8192_cubed_cells_takes_the_memory_of_what_is_active(
    tmp_path: Path, arch: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), arch],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
