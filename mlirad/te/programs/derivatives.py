"""The derivatives of a function of tensors, as functions of tensors, for launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation
from mlirad.kernel.module import GivenFlow, KernelModule
from mlirad.runtime.program import Program
from mlirad.te.definitions.compute import placeholder
from mlirad.te.definitions.dependencies import is_given
from mlirad.te.derivation.differentiate import Override, adjoints_of, sources_of, zeros
from mlirad.te.derivation.forward import jvp
from mlirad.te.programs.binding import Binding, Slot
from mlirad.te.programs.programs import program_of
from mlirad.te.programs.tensor_kernel import Passed, tensor_kernel
from mlirad.te.tensor import Tensor

Slots = dict[Slot, Tensor]


class TensorDerivatives:
    """Those of a function on the arrays of a binding: reverses by `te.differentiate`, tangents by
    `te.jvp`. `is_stopped` says that none passes: reverses only clear the adjoints of outputs."""

    def __init__(
        self, name: str, binding: Binding, program: Program, at: SourceLocation, is_stopped: bool
    ) -> None:
        self.name, self.binding, self.program, self.at = name, binding, program, at
        self.is_stopped = is_stopped
        count = binding.input_count
        self.inputs, self.outputs = binding.tensors[:count], binding.tensors[count:]

    def stopped(self) -> TensorDerivatives:
        """The same where none passes."""
        return TensorDerivatives(self.name, self.binding, self.program, self.at, True)

    def flows(self) -> list[GivenFlow]:
        """To each output from the inputs of floats that it is made of."""
        found = []
        for number, output in enumerate(self.outputs, len(self.inputs)):
            if output.dtype.is_float and not self.is_stopped:
                behind = sources_of(output, cuts_at(self.inputs))
                sources = [
                    self.binding.name(k)
                    for k, one in enumerate(self.inputs)
                    if one in behind and one.dtype.is_float
                ]
                found.append(GivenFlow(self.binding.name(number), tuple(dict.fromkeys(sources))))
        return found

    @in_turn
    def derived(
        self, kernel: KernelModule, tangents: int, *, is_reverse: bool, is_constant: bool
    ) -> KernelModule:
        """See `GivenDerivatives`."""
        made = _Made(self, kernel)
        given = {Slot(k): one for k, one in enumerate(self.inputs)}
        cleared: list[Slot] = []
        if is_reverse:
            heads = made.heads()
            results = made.adjoints(heads)
            given |= heads
            cleared = [one for d in (None, *range(tangents)) for one in made.along(heads, d)]
        else:
            results = {Slot(len(self.inputs) + k): one for k, one in enumerate(self.outputs)}
        found, moving = dict(results), dict(given)
        for direction in range(tangents):
            seeds = {} if is_constant or self.is_stopped else made.seeds(moving, direction)
            found |= made.tangents(results, moving, seeds, direction)
            given |= seeds
        module, _ = program_of(
            list(found.values()), list(given.values()), self.name, self.at, self.binding.sizes
        )
        passed = Passed(list(given), list(found), is_reverse, cleared)
        arrays = kernel.arrays[: len(kernel.arrays) - len(kernel.own_arrays)]
        binding = self.binding.with_adjoints_apart(kernel.apart)
        return tensor_kernel(module, self.name, passed, binding, self.program, arrays)


class _Made:
    """What there is of derivatives for one kernel."""

    def __init__(self, owner: TensorDerivatives, kernel: KernelModule) -> None:
        self.owner, self.kernel, self.binding = owner, kernel, owner.binding
        positions = {k: position for position, k in enumerate(self.binding.arrays)}
        self.with_gradient = {
            k for k, position in positions.items() if kernel.arrays[position].needs_grad
        }

    def has(self, slot: Slot) -> bool:
        """Whether there is an array for a slot."""
        if not self.binding.is_float(slot.number):
            return False
        place, known = self.binding.places[slot.number], self.owner.program.derivatives
        if not isinstance(place, str):
            return place in self.with_gradient
        name = known.adjoint_of(place, self.kernel.apart) if slot.is_adjoint else place
        if name is None or slot.tangent is None:
            return name is not None
        return slot.tangent < len(known.duals.get(name, ()))

    def heads(self) -> Slots:
        """Adjoints of the outputs."""
        first = len(self.owner.inputs)
        slots = {Slot(first + k, True): one for k, one in enumerate(self.owner.outputs)}
        return {slot: like(one, "head") for slot, one in slots.items() if self.has(slot)}

    def adjoints(self, heads: Slots) -> Slots:
        """Those of the inputs."""
        slots = {Slot(k, True): one for k, one in enumerate(self.owner.inputs)}
        wanted = {slot: one for slot, one in slots.items() if self.has(slot)}
        if not wanted or not heads or self.owner.is_stopped:
            return {}
        outputs = [self.binding.tensors[slot.number] for slot in heads]
        inputs = list(wanted.values())
        cuts = cuts_at(self.owner.inputs)
        found = adjoints_of(outputs, inputs, list(heads.values()), cuts)
        return dict(zip(wanted, found))

    def along(self, slots: Slots, direction: int | None) -> list[Slot]:
        """Some slots, or their tangents, where there are such."""
        found = [slot if direction is None else slot.along(direction) for slot in slots]
        return [slot for slot in found if self.has(slot)]

    def seeds(self, given: Slots, direction: int) -> Slots:
        """Tangents of what a function is given."""
        return {
            slot.along(direction): like(one, "tangent")
            for slot, one in given.items()
            if self.has(slot.along(direction))
        }

    def tangents(self, results: Slots, given: Slots, seeds: Slots, direction: int) -> Slots:
        """Those of results, where there is an array for them."""
        wanted = {s: one for s, one in results.items() if self.has(s.along(direction))}
        moving = [one for slot, one in given.items() if slot.along(direction) in seeds]
        still = [one for slot, one in given.items() if not is_given(one) and one not in moving]
        still = [one for one in still if one.dtype.is_float]
        seeded = [*seeds.values(), *(zeros(one.shape, one) for one in still)]
        found = (
            jvp(list(wanted.values()), [*moving, *still], seeded)
            if seeds
            else [zeros(one.shape, one) for one in wanted.values()]
        )
        return {slot.along(direction): one for slot, one in zip(wanted, found)}


def cuts_at(inputs: Sequence[Tensor]) -> Mapping[Tensor, Override]:
    """What keeps derivatives from passing on from inputs that are themselves defined by others."""
    return {one: ([], lambda *_: []) for one in inputs if not is_given(one)}


def like(tensor: Tensor, what: str) -> Tensor:
    """A tensor of the same shape and type, which a call gives."""
    return placeholder(tensor.shape, tensor.dtype, f"{tensor.name}.{what}")
