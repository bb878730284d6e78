"""Array arguments that may be read and not written: NumPy's views of other libraries' arrays, files
mapped for reading, views of fields."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.errors import TaichiRuntimeTypeError, located
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.values import Values


def check_writeable(variant: Variant, buffers: Sequence[ArrayBuffer], *, reverse: bool) -> None:
    """Raise TaichiRuntimeTypeError if a launch would write to an array that is read-only, or its
    reverse to a gradient."""
    for position, buffer in enumerate(buffers):
        kernel, grad = variant.kernel.name, buffer.grad
        if buffer.is_read_only and position in variant.notes.written_arrays():
            place = variant.notes.written_arrays()[position]
            reason = (
                f"argument {buffer.name} of kernel '{kernel}' is {buffer.description}, but the "
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
                "array, but the reverse writes to it"
            )


def check_arrays(variant: Variant, buffers: Sequence[ArrayBuffer], *, is_derived: bool) -> None:
    """Raise TaichiRuntimeTypeError for arrays that a launch of a kernel cannot be passed, or one of
    its derivatives."""
    check_writeable(variant, buffers, reverse=is_derived)
    _check_apart(variant, buffers, is_derived=is_derived)


def _check_apart(variant: Variant, buffers: Sequence[ArrayBuffer], *, is_derived: bool) -> None:
    """Raise TaichiRuntimeTypeError if an array shows memory of a field that a launch writes to,
    or its derivative to one of the field's: kernels are compiled for arrays that share none."""
    for buffer in buffers:
        if buffer.original_view is None and (values := buffer.host) is not None:
            for symbol in variant.kernel.fields:
                _check_apart_from(variant, buffer, values, symbol, is_derived=is_derived)


def _check_apart_from(
    variant: Variant, buffer: ArrayBuffer, values: Values, symbol: str, *, is_derived: bool
) -> None:
    current = variant.program
    for name in (symbol, *(current.derivatives.names_of(symbol) if is_derived else ())):
        memory = current.fields[name]
        first, size = memory.allocation.address, memory.allocation.size
        if (
            first <= buffer.address < first + size
            and memory.elements.overlaps(current.executor.memory.wrap(values))
            and (place := _place(variant, symbol, is_derivative=name != symbol)) is not None
        ):
            who = "the kernel" if name == symbol else "a derivative of the kernel"
            raise TaichiRuntimeTypeError(
                f"{place}: argument {buffer.name} of kernel '{variant.kernel.name}' shares "
                f"memory with field '{name}', which {who} writes: pass a copy"
            )


def _place(variant: Variant, symbol: str, *, is_derivative: bool) -> str | None:
    """Return the place at which a kernel writes to a field, or uses one, if it has a derivative of
    it."""
    accesses = variant.notes.accesses()
    candidates = (*accesses.written, *(accesses.read if is_derivative else ()))
    return next((access.place for access in candidates if access.array == symbol), None)
