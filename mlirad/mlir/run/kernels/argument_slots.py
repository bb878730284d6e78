"""The arguments of a lowered kernel, and the arrays of their derivatives, as slots for values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from mlirad.bindings import ir
from mlirad.dialect.field import array_of
from mlirad.errors import SourceLocation, TaichiRuntimeTypeError, located
from mlirad.ir.signature import (
    Argument,
    Attributes,
    Parameter,
    Signature,
    array_type_of,
    is_own,
    parameter_attributes,
)
from mlirad.mlir.run.kernels.run_memory import RunArray
from mlirad.mlir.run.values import Slot
from mlirad.runtime.memory.memory import Memory
from mlirad.runtime.memory.values import Values
from mlirad.types import from_mlir

_POINTER = "!llvm.ptr"


class ArgumentSlot(msgspec.Struct, frozen=True):
    """A slot for an argument, or for an array that holds a derivative of one."""

    label: Argument
    slot: Slot
    is_array: bool
    is_own: bool  # memory of a launch: nobody gives a value, and what it holds is nobody's

    @property
    def is_derivative(self) -> bool:
        """Return whether it holds a derivative, which starts at zero unless it is named."""
        return self.label.is_adjoint or self.label.tangent is not None

    @property
    def is_primal(self) -> bool:
        """Return whether the command line gives its value."""
        return not self.is_derivative and not self.is_own

    @property
    def zeros(self) -> Values:
        """Zeros of its type. Raises TaichiRuntimeTypeError if its extents are not known."""
        shape = self.slot.shape or ()
        if min(shape, default=0) < 0:
            raise self.slot.error("", "its size is not known")
        return np.zeros(shape, self.slot.dtype.numpy)


def argument_slots(
    function: ir.Operation, signature: Signature, place: SourceLocation | None
) -> list[ArgumentSlot]:
    """Return the slots of a lowered function, in the order of its parameters."""
    pairs = zip(signature, parameter_attributes(function))
    return [
        _slot(parameter, parameter.label, attributes, place)
        for parameter, attributes in pairs
        if isinstance(parameter.label, Argument) and parameter.label.extent is None
    ]


def _slot(
    parameter: Parameter, label: Argument, attributes: Attributes, place: SourceLocation | None
) -> ArgumentSlot:
    name = _name(label)
    if parameter.type != _POINTER:
        dtype = from_mlir("i64" if parameter.type == "index" else parameter.type)
        slot = Slot(name, dtype, () if dtype.is_float else None, place)
        return ArgumentSlot(label, slot, is_array=False, is_own=False)
    type_ = array_type_of(attributes)
    if type_ is None:
        problem = f"{name} is an address, and 'field.array' does not say of what array"
        raise TaichiRuntimeTypeError(problem if place is None else located(problem, place))
    element, extents = array_of(type_)
    slot = Slot(name, from_mlir(element), extents, place)
    return ArgumentSlot(label, slot, is_array=True, is_own=is_own(attributes))


def _name(label: Argument) -> str:
    if not label.is_adjoint and label.tangent is None:
        return f"argument {label.number}"
    adjoint = ".grad" * label.is_adjoint
    return f"arg{label.number}{adjoint}" + (
        f".dual{label.tangent}" if label.tangent is not None else ""
    )


class PassedArguments:
    """The arguments of one launch, in the memory of a machine."""

    def __init__(
        self,
        slots: Sequence[ArgumentSlot],
        inputs: Mapping[int, Values | int],
        derivatives: Mapping[str, Values],
        memory: Memory,
    ) -> None:
        self.arrays = {
            s.label.number: RunArray(np.asarray(inputs[s.label.number]), memory)
            for s in slots
            if s.is_array and s.is_primal
        }
        launch_memory = [s for s in slots if s.is_own and not s.is_derivative]
        self.arrays |= {s.label.number: RunArray(s.zeros, memory) for s in launch_memory}
        count = 1 + max((s.label.number for s in slots), default=-1)
        self.values = [_scalar(inputs.get(number)) for number in range(count)]
        self._names: dict[str, RunArray] = {}
        for s in sorted(slots, key=lambda s: s.label.tangent is not None):
            if s.is_array and not s.is_own:
                self._names[s.slot.name] = self._array(s, derivatives, memory)

    def in_order(self) -> list[RunArray]:
        """Return the arrays, by their numbers."""
        return [self.arrays[number] for number in sorted(self.arrays)]

    def read(self) -> Iterator[tuple[str, Values]]:
        """Yield what the arrays hold."""
        for name, array in self._names.items():
            yield name, array.elements.read()

    def _array(
        self, s: ArgumentSlot, derivatives: Mapping[str, Values], memory: Memory
    ) -> RunArray:
        array, label = self.arrays[s.label.number], s.label
        if not s.is_derivative:
            return array
        zeros = np.zeros(array.dims, s.slot.dtype.numpy)
        derivative = RunArray(derivatives.get(s.slot.name, zeros), memory)
        if label.tangent is None:
            array.gradient = derivative
        else:
            (array.adjoint() if label.is_adjoint else array).tangents[label.tangent] = derivative
        return derivative


def _scalar(value: Values | int | None) -> int | float | bool | None:
    return value.item() if isinstance(value, np.ndarray) and not value.shape else value  # type: ignore[return-value]
