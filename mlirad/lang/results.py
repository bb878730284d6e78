"""What a launch gives back to Python."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.matrix import Matrix
from mlirad.kernel.module import KernelModule


def shaped(kernel: KernelModule, found: tuple[Any, ...] | None) -> Any:
    """The results of a launch, as the kernel's function gives them: a number, a tuple, a matrix or
    nothing."""
    if not found:
        return None
    if kernel.result_shape is not None:
        return Matrix.of_shape(kernel.result_shape, list(found))
    return found if kernel.result_count is not None else found[0]
