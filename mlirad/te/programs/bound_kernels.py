"""A built function in one program: a kernel for each choice of fields and kinds of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeTypeError
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.arguments.overlaps import are_apart, overlap, same_key
from mlirad.lang.field.field import Field
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program
from mlirad.te.programs.binding import Binding, Slot
from mlirad.te.programs.derivatives import TensorDerivatives
from mlirad.te.programs.programs import TensorModule
from mlirad.te.programs.tensor_kernel import KernelSlots, tensor_kernel

Places = tuple[str | int, ...]


class BoundKernel:
    """The kernel for a choice of arrays, and their positions among the arguments."""

    def __init__(self, binding: Binding, variant: Variant) -> None:
        self.binding, self.variant = binding, variant

    def values(self, sizes: Sequence[int]) -> list[int | None]:
        """The arguments of a launch, None in the places of arrays."""
        before, behind = len(self.binding.arrays_before), len(self.binding.arrays_behind)
        return [*[None] * before, *sizes, *[None] * behind]


class BoundKernels:
    """The kernels of a function in a program, by its choices of arrays."""

    def __init__(self, source: TensorModule, program: Program) -> None:
        self.source, self.name, self.program = source, source.name, program
        self.inputs, self.outputs = list(source.inputs), list(source.outputs)
        self._by_places: dict[Places, BoundKernel] = {}

    def prepare(
        self, arrays: Sequence[Any], *, with_gradients: bool
    ) -> tuple[BoundKernel, list[ArrayBuffer]]:
        """The kernel for some arrays of inputs, then of outputs, and what of these it is passed.

        Raises TaichiRuntimeTypeError if arrays overlap, TaichiRuntimeError for a field that
        is gone.
        """
        tensors = [*self.inputs, *self.outputs]
        buffers = {
            k: array_buffer(array, tensors[k].name, with_gradients)
            for k, array in enumerate(arrays)
            if type(array) is np.ndarray or not isinstance(array, Field)
        }
        launched = self.on(self._places(arrays, buffers))
        return launched, [buffers[k] for k in launched.binding.arrays]

    def on(self, places: Places) -> BoundKernel:
        """The kernel for a choice (see `Binding`)."""
        launched = self._by_places.get(places)
        if launched is None or launched.variant.codes.is_stale:
            launched = self._make(places)
        return launched

    def _places(self, arrays: Sequence[Any], buffers: dict[int, ArrayBuffer]) -> Places:
        if len(buffers) == len(arrays) and are_apart(buffers.values()):
            return tuple(range(len(arrays)))
        places: list[str | int] = []
        first_with: dict[Any, int] = {}  # arrays that are an input twice become one
        for k, array in enumerate(arrays):
            if isinstance(array, Field):
                places.append(_symbol_of(array, self.name))
            elif k < len(self.inputs):
                places.append(first_with.setdefault(same_key(buffers[k]), k))
            else:
                places.append(k)
            if k >= len(self.inputs):
                self._check_apart(k, places, buffers)
        return tuple(places)

    def _check_apart(
        self, number: int, places: Sequence[str | int], buffers: dict[int, ArrayBuffer]
    ) -> None:
        """Raise TaichiRuntimeTypeError if an array that is written shares memory with another:
        an element may then be read when it is another one's already."""
        place = places[number]
        met = (
            place in places[:number]
            if isinstance(place, str)
            else any(overlap(buffers[number], b) for k, b in buffers.items() if k < number)
        )
        if met:
            array = f"field '{place}'" if isinstance(place, str) else "an array"
            raise TaichiRuntimeTypeError(
                f"{self.name}: {array} in out= shares memory with another array: pass a separate "
                "one"
            )

    @in_turn
    def _make(self, places: Places) -> BoundKernel:
        launched = self._by_places.get(places)
        if launched is not None and not launched.variant.codes.is_stale:
            return launched
        binding = Binding(self.inputs, self.outputs, self.source.sizes, places)
        count = len(self.inputs)
        passed = KernelSlots(
            [Slot(k) for k in range(count)], [Slot(count + k) for k in range(len(self.outputs))]
        )
        arrays = [
            NdarrayArgument(binding.tensors[k].dtype, binding.tensors[k].ndim, (), False)
            for k in binding.arrays
        ]
        derivatives = TensorDerivatives(self.name, binding, self.program, self.source.at, False)
        kernel = tensor_kernel(
            self.source.module, self.name, passed, binding, self.program, arrays, derivatives
        )
        launched = self._by_places[places] = BoundKernel(binding, Variant(kernel, self.program, []))
        return launched


def _symbol_of(array: Field, function: str) -> str:
    """The name of a field that has its place. Raises TaichiRuntimeError if it is gone,
    TaichiRuntimeTypeError for a sparse one."""
    memory = array.find_memory()
    if memory.nesting is not None:
        raise TaichiRuntimeTypeError(
            f"{function}: field '{array.symbol}' is sparse: functions of tensors take dense "
            "fields; x.to_numpy() returns its elements, with zeros for inactive cells"
        )
    if memory.layout.shape != (*array.shape, *array.element_shape):
        raise TaichiRuntimeTypeError(
            f"{function}: field '{array.symbol}' has shape {array.shape} in memory of shape "
            f"{memory.layout.shape}, which functions of tensors do not support"
        )
    return array.symbol
