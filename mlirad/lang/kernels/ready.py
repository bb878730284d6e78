"""Launches like the one before: what has to be looked at of their arguments, and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from mlirad.frontend.python.building.builder import being_built, in_kernel
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.lang.arguments.array_address import ArrayAddress, share_memory
from mlirad.lang.arguments.array_buffer import ArrayBuffer, ndarray_buffer
from mlirad.lang.arguments.numbers import plain_range, scalar_dtype
from mlirad.lang.arguments.parameters import NDARRAY, SCALAR, Parameter
from mlirad.lang.kernels.launch import Launch, LaunchedKernel
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.executor.executor import Code
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import DType
from mlirad.runtime.program import Program

# of an array: the number of its argument; what `Ndarray.form` is; of NumPy's, the type, how many
# axes, and the extents of an element
Guard = tuple[int, tuple[Any, ...], DType | None, int, tuple[int, ...]]
_NO_ARRAYS: Sequence[ArrayAddress] = ()
# only of memory that may be written to, side by side
_at: Callable[[Any], c_char] = c_char.from_buffer


class Ready:
    """Code of a variant, for numbers that need no conversion, and arrays of one form that lie side
    by side and share no memory."""

    def __init__(
        self,
        program: Program,
        variant: Variant,
        code: Code | None,  # of launches that nothing records, if there were any
        parameters: Sequence[Parameter],
        are_bound: Callable[[], bool],
    ) -> None:
        self.program, self.variant, self.code = program, variant, code
        self._are_bound = are_bound  # the names that the code was compiled for
        self._count = len(parameters)
        self._ranges = [
            (number, *plain_range(scalar_dtype(param, program.config)))
            for number, param in enumerate(parameters)
            if param.kind == SCALAR
        ]
        numbers = [number for number, param in enumerate(parameters) if param.kind == NDARRAY]
        self._guards = [_guard(*pair) for pair in zip(numbers, variant.kernel.arrays)]
        self._array_names = [(number, parameters[number].name) for number in numbers]

    def arrays(self, args: Sequence[Any]) -> Sequence[ArrayAddress] | None:
        """The arrays among some arguments; None if these are not such arguments, a name stands
        for something else now, or this is a kernel."""
        if len(args) != self._count or not self._are_bound() or (being_built and in_kernel()):
            return None
        for number, kind, low, high in self._ranges:
            value = args[number]
            if type(value) is not kind or not low <= value < high:  # type: ignore[operator]
                return None
        if not self._guards:
            return _NO_ARRAYS
        arrays: list[ArrayAddress] = []
        for guard in self._guards:
            passed = self._address_of(args[guard[0]], guard)
            if passed is None:
                return None
            arrays.append(passed)
        return None if len(arrays) > 1 and share_memory(arrays) else arrays

    def launch(self, kernel: LaunchedKernel, args: tuple[Any, ...]) -> Launch | None:
        """Return the launch of a kernel on ndarrays, for what records, if `arrays` takes the
        arguments; None if one of the arrays is no ndarray."""
        values: list[Any] = [*args]
        buffers: list[ArrayBuffer] = []
        for number, name in self._array_names:
            array, values[number] = args[number], None
            if type(array) is not Ndarray:
                return None
            buffers.append(ndarray_buffer(array, name, True))
        return Launch(kernel, self.variant, values, buffers)

    def _address_of(self, value: Any, guard: Guard) -> ArrayAddress | None:
        _, form, dtype, axes, element = guard
        if type(value) is Ndarray:
            is_like = value.form == form and value.program is self.program
            return value.passed if is_like else None
        if type(value) is not np.ndarray or value.dtype is not dtype:
            return None
        dims = value.shape
        if len(dims) != axes or (element and dims[-len(element) :] != element):
            return None
        try:
            return ArrayAddress(addressof(_at(value)), dims, value)
        except (TypeError, ValueError, BufferError):
            return None


def _guard(number: int, array: NdarrayArgument) -> Guard:
    """Return the expected types and forms of the arrays that a variant was made for, of ours and of
    NumPy's."""
    element, is_plain = array.element_shape, not array.needs_grad and array.layout is None
    like = array.dtype.numpy if is_plain else None
    form = array.dtype, array.ndim, element, array.needs_grad, array.layout
    return number, form, like, array.ndim + len(element), element


def ready(
    variant: Variant,
    code: Code | None,
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    are_bound: Callable[[], bool],
) -> Ready | None:
    """Return the recipe of launches like one of a variant; None if they need more than this."""
    kernel = variant.kernel
    if kernel.uses_seed or kernel.gradients:
        return None
    kinds = [param.kind for param in parameters]
    if kinds.count(SCALAR) + kinds.count(NDARRAY) != len(kinds):
        return None
    if kinds.count(NDARRAY) != len(kernel.arrays):  # one array stands for two parameters
        return None
    repeat = Ready(variant.program, variant, code, parameters, are_bound)
    return repeat if repeat.arrays(args) is not None else None
