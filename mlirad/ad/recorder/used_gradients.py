"""Gradients that a program on a tape uses itself, as memory: `kernel.grad()` computes them, kernels
and Python read and write them. What is done to them is recorded as what is done to fields."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.ledger import Ledger
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.recorder import Target
from mlirad.runtime.kernels.variant import Variant


def follows_gradients(ledger: Ledger) -> bool:
    """Return whether what Python writes to gradients is noted."""
    return ledger.order.uses_gradients and not ledger.keeper.repeats_launches


def follow_gradient(ledger: Ledger, gradient: Target, function: str | None = None) -> bool:
    """Python is about to write to a gradient, perhaps inside a function with a gradient of its own:
    whether that is noted."""
    if isinstance(gradient, Field):
        ledger.claims.use([ledger.program.derivatives.primals[gradient.symbol]])
        ledger.outer_adjoints.note_set([gradient.symbol])
        if function is not None:
            use_gradients(ledger, [gradient.symbol], function)
    return follows_gradients(ledger)


def use_gradients(
    ledger: Ledger,
    gradients: Sequence[str],
    function: str | None = None,
    variant: Variant | None = None,
) -> None:
    """The program, perhaps by a launch, uses gradients, or a function with a gradient of its own
    does. Raises TaichiRuntimeError where that has no derivative."""
    if ledger.outer_adjoints.has(gradients, function):
        return
    used = f"{caller()}: {', '.join(map(repr, gradients))} is used inside"
    if not ledger.order.uses_gradients:
        raise TaichiRuntimeError(
            f"{used} a program that ti.ad.hvp or ti.ad.hessian differentiates twice: third "
            "derivatives are not supported"
        )
    if ledger.keeper.repeats_launches:
        raise TaichiRuntimeError(
            f"{used} ti.ad.Tape(memory=...), which cannot recompute gradients: use a tape "
            "without memory="
        )
    if not ledger.outer_adjoints.begins_clear:
        raise TaichiRuntimeError(
            f"{used} a tape with clear_gradients=False, at whose end it would have two meanings: "
            "the value that the program left, and a sum"
        )
    if variant is not None:
        _check_cleared(ledger, variant)
    ledger.outer_adjoints.use(gradients, function)


def _check_cleared(ledger: Ledger, variant: Variant) -> None:
    """Raise TaichiRuntimeError for a launch that reads a gradient which entering the tape has set
    to 0."""
    outer, by_hand = ledger.outer_adjoints, not variant.kernel.is_reverse
    cleared = {
        name for name in variant.used_gradients if outer.is_cleared(name, of_reverses=by_hand)
    }
    for access in variant.notes.accesses().read if cleared else ():
        if access.part != "sum" and access.array in cleared:
            raise TaichiRuntimeError(
                f"{access.place}: kernel '{variant.kernel.name}' reads '{access.array}' in a tape, "
                "which set it to 0 when it was entered: launch the kernel after the `with` block "
                "to use the gradient of this tape, or compute the gradient in the tape with "
                "kernel.grad()"
            )
    outer.note_set(variant.used_gradients)
