"""The reverses of what a tape recorded, last first, with memory as each needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.ad.recorder.lost import warn_of_hidden, warn_of_no_seeds
from mlirad.ad.recording.array_table import FlowArray
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.tape.seeds import Adjoints, check_seeds, fingerprint, ones_like
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field.field import Field
from mlirad.lang.recorder import Target


def reverse(ledger: Ledger, outputs: Sequence[FlowArray]) -> None:
    """Run the reverses from the adjoints that lie in the gradient fields; `outputs` are those
    seeded."""
    if ledger.hidden or ledger.arrays.table:
        warn_of_hidden(ledger, outputs)
        ledger.arrays.gradients.clear_hidden()
    if not ledger.outer_adjoints.symbols:
        _run(ledger)
        return
    for entry in ledger.entries:
        entry.move(ledger.outer_adjoints)
    with ledger.outer_adjoints.in_use():
        _run(ledger)


def _reverse_added(ledger: Ledger, outputs: Sequence[FlowArray]) -> None:
    """Run the reverses, and add what tensors of torch had as gradients."""
    if not ledger.arrays.table:
        reverse(ledger, outputs)
        return
    with ledger.arrays.gradients.added_up():
        reverse(ledger, outputs)


def _run(ledger: Ledger) -> None:
    executor = ledger.program.executor
    executor.begin_sequence()
    try:
        ledger.keeper.reverse(ledger.entries)
    finally:
        executor.end_sequence()
        ledger.program.settle()
        ledger.program.derivatives.follow_reverse = True


def reverse_loss(ledger: Ledger, loss: Target) -> None:
    """Run the reverses from 1 in the gradient of a loss."""
    gradient = loss.grad
    assert gradient is not None
    ledger.outer_adjoints.settle()
    gradient.fill(1)
    _reverse_added(ledger, [ledger.name_of(loss)])


def reverse_present(ledger: Ledger) -> None:
    """Run the reverses from the adjoints that lie in the gradient fields."""
    program = ledger.program
    if not ledger.outer_adjoints.is_settled:
        raise TaichiRuntimeError(
            "the program on this tape uses gradients "
            f"({', '.join(sorted(ledger.outer_adjoints.symbols))}): their values are not seeds, "
            "so pass tape.grad() the seeds of the outputs"
        )
    adjoints = list(program.derivatives.adjoints.items())
    seeded = [symbol for symbol, name in adjoints if program.fields[name].elements.any()]
    if not seeded:
        warn_of_no_seeds()
    reverse(ledger, seeded)


def reverse_seeds(
    ledger: Ledger, loss: Target | None, seeds: Mapping[Target, Any] | None, clear_gradients: bool
) -> None:
    """Run the reverses from seeds of outputs, or of the loss, and clear gradients before, or add
    to them."""
    if seeds is not None:
        seeded = check_seeds(seeds, ledger.program)
    else:
        assert loss is not None
        seeded = [(loss, ones_like(loss))]
    ledger.outer_adjoints.settle()
    outputs = [output for output, _ in seeded]
    ledger.claims.use([output.symbol for output in outputs if isinstance(output, Field)])
    adjoints = Adjoints(ledger.program, ledger.entries, outputs, ledger.claims)
    before = [] if clear_gradients else adjoints.copies()
    adjoints.clear()
    for output, seed in seeded:
        assert output.grad is not None
        output.grad.from_numpy(seed)
    _reverse_added(ledger, [ledger.name_of(output) for output in outputs])
    for copy in before:
        copy.add()


def contents(ledger: Ledger) -> list[int] | None:
    """Return what tells whether gradients of functions wrote to primal memory; None without any."""
    calls = any(entry.calls_gradient() for entry in ledger.entries)
    return fingerprint(ledger.program, ledger.entries) if calls else None
