"""Array arguments that may be read and not written: NumPy's views of other libraries' arrays, files
mapped for reading."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.errors import TaichiRuntimeTypeError, located
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.runtime.variant import Variant


def check_writeable(variant: Variant, buffers: Sequence[ArrayBuffer], *, reverse: bool) -> None:
    """Raise TaichiRuntimeTypeError where a launch would write to an array that is read-only, or its
    reverse to a gradient."""
    for position, buffer in enumerate(buffers):
        kernel, grad = variant.kernel.name, buffer.grad
        if buffer.is_read_only and position in variant.notes.written_arrays():
            place = variant.notes.written_arrays()[position]
            reason = (
                f"argument {buffer.name} of kernel '{kernel}' is {buffer.described}, and the "
                "kernel writes to it: pass a copy"
            )
            raise TaichiRuntimeTypeError(reason if place is None else located(reason, place))
        if (
            reverse
            and grad is not None
            and grad.is_read_only
            and variant.array_needs_grad[position]
        ):
            raise TaichiRuntimeTypeError(
                f"the gradient of argument {buffer.name} of kernel '{kernel}' is a read-only "
                f"array, "
                "and the reverse writes to it"
            )
