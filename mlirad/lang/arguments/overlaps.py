"""Arrays that are passed twice, or share memory."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping

import numpy as np
from msgspec.structs import replace

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.frontend.python.values.matrix import shown_type
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.lang.arguments.array_buffer import ArrayBuffer


def same_arrays(
    buffers: Mapping[str, ArrayBuffer], forms: Mapping[str, Hashable]
) -> dict[str, str]:
    """Parameters given the array of an earlier one, with that one. Raises TaichiRuntimeTypeError
    if arrays overlap, or if one array has two forms.

    Kernels are compiled for arrays that share no memory, so two names for one array become one,
    which has one form (`NdarrayArgument`): element type, axes, boundary, gradient.
    """
    same: dict[str, str] = {}
    earlier: list[tuple[str, int, int, ArrayBuffer]] = []
    for name, buffer in buffers.items():
        start, end = extent(buffer)
        for other, first, last, owner in earlier:
            if start < last and first < end:
                if not _is_same(buffer, owner):
                    if not _have_common_elements(buffer, owner):
                        continue
                    raise TaichiRuntimeTypeError(
                        f"Arguments {other} and {name} overlap in memory and are not the same "
                        "array: pass copies, or pass one array with an offset"
                    )
                if forms[name] != forms[other]:
                    raise TaichiRuntimeTypeError(
                        f"Arguments {other} and {name} share memory in two forms, "
                        f"{_describe_form(forms[other])} and {_describe_form(forms[name])}: pass "
                        "a copy, or declare both parameters with the same type"
                    )
                same[name] = other
                break
        else:
            earlier.append((name, start, end, buffer))
    return same


def with_gradients(
    buffers: Mapping[str, ArrayBuffer], gradients: Collection[str]
) -> list[ArrayBuffer]:
    """Return the arrays that are passed, some before their gradients. Raises
    TaichiRuntimeTypeError if such a gradient is an argument as well."""
    arguments: list[ArrayBuffer] = []
    for name, buffer in buffers.items():
        arguments.append(buffer)
        if name in gradients:
            gradient = replace(buffer.adjoint(), name=f"{name}.grad")
            for other, passed in buffers.items():
                if passed.address == gradient.address:
                    raise TaichiRuntimeTypeError(
                        f"Argument {other} is the gradient of {name}, which the kernel also uses "
                        f"as {name}.grad: use only one of the two names"
                    )
            arguments.append(gradient)
    return arguments


def extent(buffer: ArrayBuffer) -> tuple[int, int]:
    """The first byte of an array in the program's memory, and the one behind its last."""
    if buffer.original_view is None:
        return buffer.address, buffer.address + buffer.nbytes
    start, view = buffer.original_view.__array_interface__["data"][0], buffer.original_view
    if not view.size:
        return start, start
    ends = [(size - 1) * stride for size, stride in zip(view.shape, view.strides)]
    low, high = (sum(sign * max(sign * end, 0) for end in ends) for sign in (-1, 1))
    return start + low, start + high + view.itemsize


def same_key(buffer: ArrayBuffer) -> Hashable:
    """Return a key that is equal for two arrays with the same elements in the same order."""
    if buffer.original_view is None:
        return buffer.address, buffer.dims, buffer.dtype.char
    view = buffer.original()
    return view.__array_interface__["data"][0], view.shape, view.strides, view.dtype.char


def _describe_form(form: Hashable) -> str:
    assert isinstance(form, NdarrayArgument)
    text = f"{form.ndim} axes of {shown_type(form.element_shape, form.dtype)}"
    text += f" in the layout {form.layout}" if form.layout else ""
    text += f" with boundary={form.boundary!r}" if form.boundary != "unsafe" else ""
    text += " with a gradient" if form.needs_grad else ""
    return text + (" with needs_grad=False" if form.is_cut else "")


def _is_same(left: ArrayBuffer, right: ArrayBuffer) -> bool:
    if left.original_view is None and right.original_view is None:
        key = left.address, left.dims, left.nbytes
        return key == (right.address, right.dims, right.nbytes)
    if left.is_ours or right.is_ours:
        return False
    keys = [
        (view.__array_interface__["data"], view.shape, view.strides, view.dtype)
        for view in (left.original(), right.original())
    ]
    return keys[0] == keys[1]


def overlap(left: ArrayBuffer, right: ArrayBuffer) -> bool:
    """Return whether two arrays have an element in common, or may have."""
    (start, end), (first, last) = extent(left), extent(right)
    return start < last and first < end and _have_common_elements(left, right)


def are_apart(buffers: Iterable[ArrayBuffer]) -> bool:
    """Return whether none of some arrays begins before another one's last byte: then no two
    overlap."""
    reached = 0
    for first, end in sorted(map(extent, buffers)):
        if first < reached:
            return False
        reached = max(reached, end)
    return True


def _have_common_elements(left: ArrayBuffer, right: ArrayBuffer) -> bool:
    """Return whether two arrays whose extents overlap have an element in common, or may have: it
    can be too hard to find out. Ours, and those on a device, whose elements lie side by side,
    have."""
    if left.is_ours or right.is_ours or left.host is None or right.host is None:
        return True
    try:
        return np.shares_memory(left.original(), right.original(), max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
