"""Kernels of modules of whatever stage, run on fields and arguments that have names."""

from mlirad.mlir.run.kernels.entry import copied, is_kernel, label_arguments
from mlirad.mlir.run.kernels.kernel_command import KernelCommand

__all__ = ["KernelCommand", "copied", "is_kernel", "label_arguments"]
