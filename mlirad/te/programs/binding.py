"""Bindings of a function of tensors: a field, or an array argument, for each of its tensors."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir.signature import Attributes, adjoint_label, argument_label, tangent_label
from mlirad.runtime.program import Program
from mlirad.te.emission import mlir_type
from mlirad.te.tensor import Tensor


@dataclass(frozen=True)
class Slot:
    """An array that a function of tensors reads or writes: an input or output, by its number
    among them, or the adjoint of it, or tangents of either."""

    number: int
    is_adjoint: bool = False
    tangent: int | None = None

    @property
    def adjoint(self) -> Slot:
        """The slot of the adjoint."""
        return Slot(self.number, True, self.tangent)

    def along(self, direction: int) -> Slot:
        """Return the slot of the tangents."""
        return Slot(self.number, self.is_adjoint, direction)


class Binding:
    """The arrays of the inputs, then those of the outputs.

    `places` has for each the name of a field, or the number of the first of them that is the same
    array: its own, mostly. Arguments are arrays of inputs, sizes, arrays of outputs, in this order.
    """

    def __init__(
        self,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        sizes: Sequence[str],
        places: Sequence[str | int],
    ) -> None:
        self.tensors, self.sizes, self.places = [*inputs, *outputs], list(sizes), list(places)
        self.input_count = len(inputs)
        arrays = [k for k, place in enumerate(places) if place == k]
        self.arrays_before = [k for k in arrays if k < len(inputs)]
        self.arrays_behind = [k for k in arrays if k >= len(inputs)]
        first = len(self.arrays_before)
        behind = first + len(self.sizes)
        self.numbers = {k: number for number, k in enumerate(self.arrays_before)}
        self.numbers.update({k: behind + n for n, k in enumerate(self.arrays_behind)})
        self.first_size, self.argument_count = first, behind + len(self.arrays_behind)
        self.apart = frozenset[str]()  # fields whose adjoints lie apart from their gradients

    def with_adjoints_apart(self, symbols: frozenset[str]) -> Binding:
        """Return a binding of whose fields some have adjoints apart from their gradients."""
        copied = copy(self)
        copied.apart = symbols
        return copied

    @property
    def arrays(self) -> list[int]:
        """The inputs and outputs whose arrays are arguments, by their number."""
        return [*self.arrays_before, *self.arrays_behind]

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        return list(dict.fromkeys(place for place in self.places if isinstance(place, str)))

    def name(self, number: int) -> str | int:
        """An array as flows name it: the name of a field, or the number of an argument."""
        place = self.places[number]
        return place if isinstance(place, str) else self.numbers[place]

    def sizes_of(self, values: Sequence[int]) -> Sequence[int]:
        """The sizes among the arguments of a launch."""
        return values[self.first_size : self.first_size + len(self.sizes)]

    def array(self, slot: Slot) -> Slot:
        """The slot that stands for all that are the same array as one."""
        place = self.places[slot.number]
        number = slot.number if isinstance(place, str) else place
        return Slot(number, slot.is_adjoint, slot.tangent)

    def symbol(self, slot: Slot, program: Program) -> str | None:
        """The field of a slot; None for an array argument."""
        place = self.places[slot.number]
        if not isinstance(place, str):
            return None
        derivatives = program.derivatives
        name = derivatives.adjoint_of(place, self.apart) if slot.is_adjoint else place
        assert name is not None
        return name if slot.tangent is None else derivatives.duals[name][slot.tangent]

    def label(self, slot: Slot) -> Attributes:
        """The label of an array argument."""
        label = argument_label(self.numbers[self.array(slot).number])
        if slot.is_adjoint:
            label = {**label, **adjoint_label(label)}
        return label if slot.tangent is None else tangent_label(label, slot.tangent)

    def argument_type(self, slot: Slot) -> ir.Type:
        """The type of an array argument."""
        tensor = self.tensors[slot.number]
        extents = [extent if isinstance(extent, int) else -1 for extent in tensor.shape]
        return field.array_type(mlir_type(tensor.dtype), extents)

    def is_float(self, number: int) -> bool:
        """Return whether a tensor may have derivatives."""
        return self.tensors[number].dtype.is_float
