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
from mlirad.te.programs.programs import module_of
from mlirad.te.programs.tensor_kernel import KernelSlots, tensor_kernel
from mlirad.te.tensor import Tensor

Slots = dict[Slot, Tensor]


class TensorDerivatives:
    """The derivatives of a function on the arrays of a binding: reverses by `te.differentiate`,
    tangents by `te.jvp`. `is_stopped` says that none passes: reverses only clear the adjoints of
    outputs."""

    def __init__(
        self, name: str, binding: Binding, program: Program, at: SourceLocation, is_stopped: bool
    ) -> None:
        self.name, self.binding, self.program, self.at = name, binding, program, at
        self.is_stopped = is_stopped
        count = binding.input_count
        self.inputs, self.outputs = binding.tensors[:count], binding.tensors[count:]

    def stop(self) -> TensorDerivatives:
        """Return the derivatives if none passes."""
        return TensorDerivatives(self.name, self.binding, self.program, self.at, True)

    def flows(self) -> list[GivenFlow]:
        """To each output from the inputs of floats that it is made of."""
        flows = []
        for number, output in enumerate(self.outputs, len(self.inputs)):
            if output.dtype.is_float and not self.is_stopped:
                behind = sources_of(output, cuts_at(self.inputs))
                sources = [
                    self.binding.name(k)
                    for k, tensor in enumerate(self.inputs)
                    if tensor in behind and tensor.dtype.is_float
                ]
                flows.append(GivenFlow(self.binding.name(number), tuple(dict.fromkeys(sources))))
        return flows

    @in_turn
    def derive(
        self, kernel: KernelModule, tangents: int, *, is_reverse: bool, is_constant: bool
    ) -> KernelModule:
        """Return a derivative as a kernel; see `GivenDerivatives`."""
        parts_of = _DerivativesOfKernel(self, kernel)
        arguments = {Slot(k): tensor for k, tensor in enumerate(self.inputs)}
        cleared: list[Slot] = []
        if is_reverse:
            heads = parts_of.heads()
            results = parts_of.adjoints(heads)
            arguments |= heads
            cleared = [slot for d in (None, *range(tangents)) for slot in parts_of.along(heads, d)]
        else:
            results = {Slot(len(self.inputs) + k): tensor for k, tensor in enumerate(self.outputs)}
        all_results, moving = dict(results), dict(arguments)
        for direction in range(tangents):
            seeds = {} if is_constant or self.is_stopped else parts_of.seeds(moving, direction)
            all_results |= parts_of.tangents(results, moving, seeds, direction)
            arguments |= seeds
        source = module_of(
            list(all_results.values()),
            list(arguments.values()),
            self.name,
            self.at,
            self.binding.sizes,
        )
        passed = KernelSlots(list(arguments), list(all_results), is_reverse, cleared)
        arrays = kernel.arrays[: len(kernel.arrays) - len(kernel.own_arrays)]
        binding = self.binding.with_adjoints_apart(kernel.apart)
        return tensor_kernel(source.module, self.name, passed, binding, self.program, arrays)


class _DerivativesOfKernel:
    """The derivatives of one kernel."""

    def __init__(self, owner: TensorDerivatives, kernel: KernelModule) -> None:
        self.owner, self.kernel, self.binding = owner, kernel, owner.binding
        positions = {k: position for position, k in enumerate(self.binding.arrays)}
        self.with_gradient = {k for k, n in positions.items() if kernel.arrays[n].needs_grad}

    def has(self, slot: Slot) -> bool:
        """Return whether there is an array for a slot."""
        if not self.binding.is_float(slot.number):
            return False
        place, derivatives = self.binding.places[slot.number], self.owner.program.derivatives
        if not isinstance(place, str):
            return place in self.with_gradient
        name = derivatives.adjoint_of(place, self.kernel.apart) if slot.is_adjoint else place
        if name is None or slot.tangent is None:
            return name is not None
        return slot.tangent < len(derivatives.duals.get(name, ()))

    def heads(self) -> Slots:
        """Adjoints of the outputs."""
        first = len(self.owner.inputs)
        slots = {Slot(first + k, True): tensor for k, tensor in enumerate(self.owner.outputs)}
        return {slot: like(tensor, "head") for slot, tensor in slots.items() if self.has(slot)}

    def adjoints(self, heads: Slots) -> Slots:
        """Return the adjoints of the inputs."""
        slots = {Slot(k, True): tensor for k, tensor in enumerate(self.owner.inputs)}
        targets = {slot: tensor for slot, tensor in slots.items() if self.has(slot)}
        if not targets or not heads or self.owner.is_stopped:
            return {}
        outputs = [self.binding.tensors[slot.number] for slot in heads]
        inputs = list(targets.values())
        cuts = cuts_at(self.owner.inputs)
        adjoints = adjoints_of(outputs, inputs, list(heads.values()), cuts)
        return dict(zip(targets, adjoints))

    def along(self, slots: Slots, direction: int | None) -> list[Slot]:
        """Return slots, or their tangents, if they have arrays."""
        slots_along = [slot if direction is None else slot.along(direction) for slot in slots]
        return [slot for slot in slots_along if self.has(slot)]

    def seeds(self, arguments: Slots, direction: int) -> Slots:
        """Tangents of what a function is given."""
        return {
            slot.along(direction): like(tensor, "tangent")
            for slot, tensor in arguments.items()
            if self.has(slot.along(direction))
        }

    def tangents(self, results: Slots, arguments: Slots, seeds: Slots, direction: int) -> Slots:
        """Return the tangents of results that have an array for them."""
        targets = {s: tensor for s, tensor in results.items() if self.has(s.along(direction))}
        moving = [tensor for slot, tensor in arguments.items() if slot.along(direction) in seeds]
        still = [
            tensor
            for slot, tensor in arguments.items()
            if not is_given(tensor) and tensor not in moving
        ]
        still = [tensor for tensor in still if tensor.dtype.is_float]
        seeded = [*seeds.values(), *(zeros(tensor.shape, tensor) for tensor in still)]
        tangents = (
            jvp(list(targets.values()), [*moving, *still], seeded)
            if seeds
            else [zeros(tensor.shape, tensor) for tensor in targets.values()]
        )
        return {slot.along(direction): tangent for slot, tangent in zip(targets, tangents)}


def cuts_at(inputs: Sequence[Tensor]) -> Mapping[Tensor, Override]:
    """Return overrides by which derivatives end at inputs that are defined by other tensors."""
    return {tensor: ([], lambda *_: []) for tensor in inputs if not is_given(tensor)}


def like(tensor: Tensor, suffix: str) -> Tensor:
    """A tensor of the same shape and type, which a call gives."""
    return placeholder(tensor.shape, tensor.dtype, f"{tensor.name}.{suffix}")
