"""Hosts without what x86-64 and glibc have: every feature of `host.py` has an alternative."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlirad.host import Feature

pytestmark = pytest.mark.cpu_code("what the CPU's host has")

PROGRAM = """
import sys
import numpy as np
import mlirad as ti
from mlirad.host import Feature, has
from mlirad.runtime.cpu import processor
from mlirad.runtime.program import program

left_out = {name for name in sys.argv[1].split(",") if name}
assert {feature for feature in Feature if not has(feature)} == left_out
ti.init(default_fp=ti.f32, cpu_max_num_threads=2, opt_level=3)
program().config.thread_worth = 0
x = ti.field(ti.f32, 1000, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)

@ti.kernel
def run():
    for i in x:
        loss[None] += ti.sin(x[i]) * ti.exp(-x[i]) / ti.sqrt(1.0 + x[i])

x.from_numpy(np.linspace(0, 2, 1000, dtype=np.float32))
for _ in range(3):
    with ti.ad.Tape(loss):
        run()
np.save(sys.argv[2], [*x.grad.to_numpy(), loss[None]])
stages = run.ir(stage="target")
assert ("libmvec." in stages) == has(Feature.LIBMVEC)
assert ("reciprocal-estimates" in stages) == processor.has_root_estimates()
"""


@pytest.mark.parametrize(
    "features", [(), *((feature,) for feature in Feature), tuple(Feature)], ids=",".join
)
def test_programs_run_without(features: tuple[Feature, ...], tmp_path: Path) -> None:
    """On two threads, with elementary functions and a square root that may be estimated."""
    program, numbers = tmp_path / "program.py", tmp_path / "numbers.npy"
    program.write_text(PROGRAM)
    environment = {**os.environ, "MLIRAD_PLAIN_HOST": ",".join(features)}
    command = [sys.executable, program, ",".join(features), numbers]
    subprocess.run(command, env=environment, check=True, timeout=120)
    *gradients, loss = np.load(numbers)
    x = np.linspace(0, 2, 1000, dtype=np.float32).astype(np.float64)
    value = np.sin(x) * np.exp(-x) / np.sqrt(1 + x)
    slope = (np.cos(x) - np.sin(x) - np.sin(x) / (2 * (1 + x))) * np.exp(-x) / np.sqrt(1 + x)
    np.testing.assert_allclose(loss, value.sum(), rtol=1e-5)
    np.testing.assert_allclose(gradients, slope, rtol=1e-5, atol=1e-6)


def test_a_feature_that_no_host_has_is_refused() -> None:
    environment = {**os.environ, "MLIRAD_PLAIN_HOST": "loader,lader"}
    command = [sys.executable, "-c", "from mlirad.host import *; has(Feature.LOADER)"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "expected 0, 1, or some of loader, libmvec, processor, semaphores, files" in ended.stderr
