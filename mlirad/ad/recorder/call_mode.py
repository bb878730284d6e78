"""The mode of a tape inside a call of a function with a gradient of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from mlirad.ad.recorder.mode import RecordingMode
from mlirad.ad.recorder.recorded_transfer import box_of_piece
from mlirad.ad.recorder.used_gradients import follow_gradient, use_gradients
from mlirad.ad.recording.call import Call
from mlirad.ad.recording.entries import ConstantLaunch, RecordedCall
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.target_memory import (
    activities_of,
    box_of,
    index_of_copy,
    memory_of,
    touched_box,
)
from mlirad.lang.arguments.array_buffer import write_back
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.kernels.reverse_alone import launch_reverse_alone
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import FunctionCall, Target
from mlirad.lang.transfer import Pass, Transfer
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Index


class CallMode(RecordingMode):
    """A mode in which only the call is recorded; what is done inside is run, and what it touches is
    noted."""

    follows_reads = True

    def __init__(self, ledger: Ledger, call: Call, function: str | None) -> None:
        super().__init__(ledger)
        self.call = call
        self.function = function  # None for a launch through which no derivative passes

    def inside(self, call: FunctionCall) -> AbstractContextManager[RecordingMode]:
        return nullcontext(self)

    def launch(self, launch: Launch) -> Any:
        ledger, variant = self.ledger, launch.variant
        if variant.used_gradients:
            use_gradients(ledger, variant.used_gradients, self.function, variant)
        self.order.prepare_launches([variant])
        ledger.claims.use_variant(variant)
        again = ledger.keeper.hold(launch)
        ledger.keeper.launch(again, None)
        self.call.launch(again)
        results = self._run(launch)
        ledger.keeper.take(launch)
        ledger.arrays.unseen.seen_by_call(launch)
        return results

    def _run(self, launch: Launch) -> Any:
        """Run a launch; one that clears gradients which the function uses, as launches run that
        nothing records."""
        variant = launch.variant
        mode = self.order.primal_mode(variant, is_constant=True, validates=False)
        self.order.before_run(launch, is_constant=True)
        if any(map(self.empties_gradient, variant.kernel.emptied)):
            results = variant.unrecorded.launch(launch.values, launch.arrays)
        else:
            results = launch.run(mode)
        if launch.arrays:
            write_back(launch.arrays, variant.notes.written_arrays)
        return results

    def launch_reverse(self, launch: Launch) -> None:
        use_gradients(self.ledger, launch.variant.gradients(), self.function)
        launch_reverse_alone(launch)

    def empties_gradient(self, symbol: str) -> bool:
        gradient = self.program.derivatives.adjoints.get(symbol, "")
        return self.ledger.outer_adjoints.has([gradient], self.function)

    def clear_gradients(self) -> None:
        """Note that gradients hold no values from before the tape."""
        self.ledger.outer_adjoints.forget_cleared()

    def result(self, launch: Launch) -> None:
        """Nothing: no derivative passes."""

    def host_read(self, target: Target) -> None:
        """Python reads: what a gradient is of is the function's affair."""
        if isinstance(target, Field) and target.is_derivative:
            use_gradients(self.ledger, [target.symbol], self.function)
        key, elements, _ = memory_of(target)
        self.call.read(key, elements, touched_box(target, None))

    def host_write(self, target: Target, index: Index | None) -> None:
        ledger, place = self.ledger, caller()
        if not target.is_derivative:
            for key, cells in activities_of(target):
                self.call.write(key, cells, box_of(cells, None), place)
        elif not follow_gradient(ledger, target, self.function):
            return
        hidden = ledger.arrays.gradients.hidden_of(target) if isinstance(target, Ndarray) else None
        self._write(target, touched_box(target, index), place)
        self.order.host_write(target, index, hidden)

    def _write(self, target: Target, box: Box, place: str) -> None:
        key, elements, _ = memory_of(target)
        self.ledger.keeper.write(key, elements, box)
        self.call.write(key, elements, box, place)

    def host_copy(self, target: Field, source: Field) -> None:
        gradients = [field.symbol for field in (target, source) if field.is_derivative]
        if gradients:
            use_gradients(self.ledger, gradients, self.function)
        key, elements, _ = memory_of(source)
        self.call.read(key, elements, touched_box(source, None))
        self.host_write(target, index_of_copy(target))
        self.order.host_copy(target, source, carries=False)

    def transfer(self, transfer: Transfer, why: Pass, number: int) -> None:
        place = caller()
        transfer.agree(why, number, False)
        for piece in transfer.sources:
            key, elements, _ = memory_of(piece.target)
            self.call.read(key, elements, box_of_piece(piece))
        for piece in transfer.targets:
            self._write(piece.target, box_of_piece(piece), place)
        transfer.run()


@contextmanager
def call_of(ledger: Ledger, entry: RecordedCall | ConstantLaunch, place: str) -> Iterator[CallMode]:
    """Record a call: follow what it overwrites of what earlier reverses need, and note what its
    gradient may read."""
    unseen, call = ledger.arrays.unseen, Call(ledger.versions, place, entry.saved)
    function = entry if isinstance(entry, RecordedCall) else None
    if ledger.is_open:
        unseen.check_gradient_arrays()
    ledger.keeper.check_arrays(str(entry))
    changed = unseen.look_at_all(ledger.versions)
    ledger.entries += [*changed, entry]
    try:
        yield CallMode(ledger, call, None if function is None else str(function))
        entry.is_done = True
    finally:
        entry.saved[:0] = unseen.take_all(ledger.versions)
        touched = () if function is None else call.touched_boxes()
        ledger.keeper.add_call(entry, touched, unseen.called_arrays())
    # under "refuse" every later write would be refused, as what the gradient reads is not known
    if function is not None and ledger.rules != "refuse":
        if ledger.is_open:
            unseen.hold_gradient_arrays(function.call.function.__name__)
        call.expect_gradient()
