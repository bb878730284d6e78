"""The derivative of a kernel for a processor of another kind, run where there are an emulator and
a compiler for it: Debian's packages qemu-user and gcc-aarch64-linux-gnu."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.assembly import to_assembly
from mlirad.pipeline.mode import REVERSE
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import cpu_stages
from mlirad.pipeline.stages.stage import join

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
pytestmark = [
    pytest.mark.cpu_code("code for a CPU"),
    pytest.mark.skipif(
        not (shutil.which(COMPILER) and shutil.which(EMULATOR)), reason=f"no {EMULATOR} here"
    ),
]

PLACE = """
  "snode.dense"() ({{
    "snode.place"() {{sym_name = "{0}", element = f32, component_shape = []{1}}} : () -> ()
  }}) {{axes = [0], extents = [64]}} : () -> ()
"""
PLACES = [PLACE.format(name, f", adjoint = @{name}.grad") for name in "xy"]
PLACES += [PLACE.format(f"{name}.grad", "") for name in "xy"]
SOURCE = f"""
"snode.root"() ({{ {"".join(PLACES)} }}) {{sym_name = "S0"}} : () -> ()
func.func @ratio(%factor: f32) {{
  %x = "field.get"() {{field = @x}} : () -> !field.array<f32, [64]>
  %y = "field.get"() {{field = @y}} : () -> !field.array<f32, [64]>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = arith.constant 64 : index
  scf.parallel (%i) = (%zero) to (%count) step (%one) {{
    %value = "field.load"(%x, %i) : (!field.array<f32, [64]>, index) -> f32
    %root = math.sqrt %value : f32
    %product = arith.mulf %value, %factor : f32
    %sine = math.sin %product : f32
    %ratio = arith.divf %sine, %root : f32
    "field.store"(%ratio, %y, %i) : (f32, !field.array<f32, [64]>, index) -> ()
  }}
  return
}}
"""
MAIN = """
#include <stdio.h>
void _mlir_ciface_ratio(float, float *x, float *y_grad, float *x_grad);
int main(void) {
  static float x[64], x_grad[64], y_grad[64];
  for (int i = 0; i < 64; i++) { x[i] = 1.0f + i / 16.0f; y_grad[i] = 1.0f; }
  _mlir_ciface_ratio(0.5f, x, y_grad, x_grad);
  for (int i = 0; i < 64; i++) printf("%.9g\\n", x_grad[i]);
  return 0;
}
"""


def test_a_reverse_on_aarch64(tmp_path: Path) -> None:
    """The gradient of sin(x / 2) / sqrt(x)."""
    module = ir.Module.parse(SOURCE, context())
    run_pipeline(module.operation, join(cpu_stages(REVERSE, estimates=False)))
    assembly, main, program = (tmp_path / name for name in ("ratio.s", "main.c", "program"))
    assembly.write_text(to_assembly(module.operation, "aarch64-linux-gnu", "neoverse-n1"))
    main.write_text(MAIN)
    command = [COMPILER, "-static", main, assembly, "-lm", "-o", program]
    subprocess.run(command, check=True, timeout=60)
    ended = subprocess.run([EMULATOR, program], check=True, capture_output=True, timeout=60)
    x = 1 + np.arange(64) / 16
    expected = np.cos(x / 2) / 2 / np.sqrt(x) - np.sin(x / 2) / 2 / x**1.5
    np.testing.assert_allclose([*map(float, ended.stdout.split())], expected, rtol=1e-5, atol=1e-6)
