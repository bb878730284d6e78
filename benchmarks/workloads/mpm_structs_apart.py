"""`mpm_structs` with `ti.Layout.SOA`: members lie apart."""

from typing import Any

from benchmarks.workload import Workload
from benchmarks.workloads.mpm2d import STEPS
from benchmarks.workloads.mpm_structs import build_as


def build(ti: Any, size: int, steps: int = STEPS) -> Workload:
    """`size` particles."""
    return build_as(ti, size, ti.Layout.SOA, steps)
