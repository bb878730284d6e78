"""What a program loads before its first result, and what it leaves to programs that want it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mlirad.pipeline.runner import VERIFY

PROGRAM = """
import sys
import mlirad as ti

def loaded():
    return {name for name in sys.modules if name.startswith("mlirad.")}

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, 1000, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)

@ti.kernel
def small():
    for i in x:
        loss[None] += ti.sin(x[i]) * x[i]

print(*loaded())
small()
print(*loaded())
with ti.ad.Tape(loss):
    small()
print(*loaded())
"""
NEVER = {  # for other programs
    "mlirad.ad.budget.budget",
    "mlirad.ad.checkpoint.checkpointing",
    "mlirad.ad.forward.forward_mode",
    "mlirad.analysis.contractions.contraction",
    "mlirad.analysis.tensors.integer_systems",
    "mlirad.passes.cpu.insert_lanes.loop_in_lanes",
    "mlirad.passes.cpu.insert_write_buffers.buffered_loop",
    "mlirad.passes.cpu.lower_constant_powers",
    "mlirad.passes.loops.insert_active_lists.list_loops",
    "mlirad.passes.loops.gather_pair_updates.gathered_pair",
    "mlirad.passes.loops.insert_private_copies.private_copy",
    "mlirad.passes.loops.split_scatter_loops.rows",
    "mlirad.passes.loops.split_contractions.splitting",
    "mlirad.passes.loops.tile_contractions.tiles",
    "mlirad.passes.memory.lower_activity",
    "mlirad.passes.memory.lower_field_print",
    "mlirad.passes.rounding.split_sums.sums_in_lanes",
}


def test_a_small_program_loads_what_it_wants(tmp_path: Path) -> None:
    """Passes are loaded when a kernel is compiled; what they do to few programs, for these."""
    file = tmp_path / "small.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file)],
        env={
            **{name: value for name, value in os.environ.items() if name != VERIFY},
            "MLIRAD_OFFLINE_CACHE": "0",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    first, called, taped = (set(line.split()) for line in done.stdout.splitlines())
    assert not {name for name in first if name.startswith("mlirad.passes.")}
    assert "mlirad.passes.cpu.insert_lanes" in called - first
    assert "mlirad.sweeps.reverse" in taped - called
    is_in_lanes = "MLIRAD_LANES" in os.environ  # it wants what makes them
    assert not taped & (
        NEVER - ({"mlirad.passes.cpu.insert_lanes.loop_in_lanes"} if is_in_lanes else set())
    )
