"""Gradients that a program on a tape uses itself, as memory: `kernel.grad()` computes them, kernels
and Python read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.ad.recorder.recorded_transfers import RecordedTransfers
from mlirad.ad.recording.entries import HostWrite
from mlirad.ad.recording.target_memory import box_of
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.kernels.reverse_alone import launch_reverse_alone, reverse_launch
from mlirad.lang.recorder import Target
from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program


class RecordedGradients(RecordedTransfers):
    """What is done to gradients is recorded as what is done to fields."""

    program: Program

    def launch_reverse(self, launch: Launch) -> None:
        """Launch the reverse of a kernel, which is a kernel as any other: it reads and writes
        gradients.

        Raises TaichiRuntimeError, or TaichiCompilationError, where it has no derivative.
        """
        if self.call is not None:
            self.use_gradients(launch.variant.gradients())
            launch_reverse_alone(launch)
            return
        self.launch(reverse_launch(launch, "tape"))

    def clear_gradients(self) -> None:
        """Set all gradients to 0: writes from Python."""
        derivatives, place = self.program.derivatives, caller()
        self.ledger.apart.cleared.clear()
        for name, primal in derivatives.primals.items() if self.call is None else ():
            if primal not in derivatives.primals and self._may_follow:
                elements = self.program.fields[name].elements
                box = box_of(elements, None)
                saved = self.ledger.versions.before_write(name, elements, box, place)
                self.ledger.add(HostWrite(elements, self._adjoints(name), box, saved))

    def empties_gradient(self, symbol: str) -> bool:
        """Where the program has used it: else it is 0, and belongs to the reverse."""
        apart = self.ledger.apart
        if self.call is None:
            return symbol in apart.symbols
        return apart.has([self.program.derivatives.adjoints.get(symbol, "")], self.call.name)

    def refuse_emptied(self, variant: Variant) -> None:
        """Raise TaichiRuntimeError for a launch in a checkpointed loop that would clear a gradient
        which the program uses."""
        for symbol in filter(self.empties_gradient, variant.kernel.emptied):
            raise TaichiRuntimeError(
                f"{caller()}: kernel '{variant.kernel.name}' deactivates '{symbol}', of which the "
                "program uses the gradient, inside a checkpointed loop, which cannot make "
                "gradients again: take a plain loop"
            )

    def compute(self, launch: Launch, mode: Mode) -> Any:
        """Run code of a launch; in a function with a gradient of its own, where that uses gradients
        of what is deactivated, as launches run that nothing records."""
        variant = launch.variant
        if self.call is not None and any(map(self.empties_gradient, variant.kernel.emptied)):
            return variant.unrecorded.launch(launch.values, launch.arrays)
        return launch.run(mode)

    def follows(self, gradient: Target) -> bool:
        """Whether what Python writes to a gradient is noted."""
        if isinstance(gradient, Field):
            self.ledger.claims.use([self.program.derivatives.primals[gradient.symbol]])
            self.ledger.apart.cleared.discard(gradient.symbol)
            if self.call is not None:
                self.use_gradients([gradient.symbol])
        return self._may_follow

    @property
    def _may_follow(self) -> bool:
        return self.order.uses_gradients and not self.ledger.keeper.repeats_launches

    def _adjoints(self, symbol: str) -> list[Elements]:
        name = self.program.derivatives.adjoints.get(symbol)
        return [] if name is None else [self.program.fields[name].elements]

    def use_gradients(self, gradients: Sequence[str], variant: Variant | None = None) -> None:
        """The program, perhaps by a launch, uses gradients, or a function with a gradient of its
        own does. Raises TaichiRuntimeError where that has no derivative."""
        ledger, function = self.ledger, None if self.call is None else self.call.name
        if ledger.apart.has(gradients, function):
            return
        used = f"{caller()}: {', '.join(map(repr, gradients))} is used inside"
        if not self.order.uses_gradients:
            raise TaichiRuntimeError(
                f"{used} what ti.ad.hvp or ti.ad.hessian differentiates twice: derivatives of the "
                "third order are not computed"
            )
        if ledger.keeper.repeats_launches:
            raise TaichiRuntimeError(
                f"{used} ti.ad.Tape(memory=...), which cannot make gradients again: take a tape "
                "without a budget"
            )
        if not ledger.apart.begins_clear:
            raise TaichiRuntimeError(
                f"{used} a tape with clear_gradients=False, at whose end it would be two things: "
                "what the program left there, and a sum"
            )
        if variant is not None and not ledger.apart.cleared.isdisjoint(gradients):
            self._check_cleared(variant)
        ledger.apart.use(gradients, function)

    def _check_cleared(self, variant: Variant) -> None:
        """Raise TaichiRuntimeError for a launch that reads a gradient which entering the tape has
        set to 0."""
        for one in variant.notes.accesses().read:
            if one.part != "sum" and one.array in self.ledger.apart.cleared:
                raise TaichiRuntimeError(
                    f"{one.place}: kernel '{variant.kernel.name}' reads '{one.array}', which was "
                    "given values before the tape was entered, and the tape set it to 0: compute "
                    "it inside the tape"
                )
        self.ledger.apart.cleared.difference_update(variant.used_gradients)
