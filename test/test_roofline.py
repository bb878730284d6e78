"""The work of a workload, as `benchmarks.roofline` counts it, is what one counts by hand."""

from __future__ import annotations

import pytest

import mlirad as ti
from benchmarks.roofline import work_of
from benchmarks.work import UncountedError
from benchmarks.workloads.matmul import build
from benchmarks.workloads.ray_march import build as build_rays


def test_work_of_a_product_of_matrices() -> None:
    ti.init(cpu_max_num_threads=1)
    size = 24
    primal, reverse = work_of(build(ti, size))
    products = 2 * size**3
    assert products <= primal.operations <= products + 8 * size**2
    assert 2 * products <= reverse.operations <= 2 * products + 16 * size**2
    matrices = 4 * size**2  # bytes of one
    # left, right read and product written; product and weight read; and the loss
    assert primal.bytes == pytest.approx(5 * matrices, abs=64)
    # left, right read, their adjoints updated, the product's read; weight read, the product's
    # adjoint updated
    assert reverse.bytes == pytest.approx((2 + 4 + 1 + 1 + 2) * matrices, abs=64)


def test_work_that_depends_on_data() -> None:
    ti.init(cpu_max_num_threads=1)
    with pytest.raises(UncountedError, match="runs until a condition holds"):
        work_of(build_rays(ti, 8))
