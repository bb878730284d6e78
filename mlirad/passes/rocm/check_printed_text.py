"""Reject code for AMD GPUs that prints: its text would go through a service of ROCm on the host,
which nothing here provides.

Expects outlined kernels (`gpu-kernel-outlining`).
"""

from mlirad.bindings import ir
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import operations


def check_printed_text(module: ir.Operation) -> None:
    """Refuse AMD GPU kernels that print."""
    for op in operations(module):
        if op.name == Gpu.PRINTF:
            refuse(op, "'print' in a kernel for an AMD GPU: another machine can run it")
