"""The launches of workloads as `benchmarks.gpu.launch_table` counts them in the outlined IR."""

from __future__ import annotations

import pytest

import mlirad as ti
from benchmarks.gpu.launch_table import kernel_launches
from benchmarks.gpu.launch_work import LaunchWork
from benchmarks.workloads import network, saxpy_sum
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode
from mlirad.runtime.program import program


def launches(mode: Mode) -> list[LaunchWork]:
    """Those of all kernels that were compiled."""
    return [work for codes in program().compiled for work in kernel_launches(codes.stages, mode)]


def test_bytes_and_operations_of_a_stream() -> None:
    ti.init(arch=ti.cpu)
    n = 1 << 20
    workload = saxpy_sum.build(ti, n)
    workload.forward()
    primal, last_block = launches(PRIMAL)
    assert primal.blocks == (2048, 1, 1) and primal.block == (128, 1, 1)
    assert primal.trips * primal.threads == n
    blocks = 2048 * 4  # of the sums of the blocks, written and read
    assert primal.least_bytes == 2 * 4 * n + blocks
    assert last_block.threads == 256 and last_block.trips == 8
    assert primal.is_exact and last_block.is_exact


@pytest.mark.parametrize("size", [4096, 65_536])
def test_long_sums_into_few_elements_are_cut(size: int) -> None:
    """Each weight's adjoint is a sum over all rows, of which a thread takes few."""
    ti.init(arch=ti.cpu)
    workload = network.build(ti, size)
    with ti.ad.Tape(workload.loss):
        workload.forward()
    works = launches(REVERSE)
    assert all(work.is_exact for work in works)
    assert max(work.trips for work in works) <= max(256, size // 512)
