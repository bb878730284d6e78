"""Transfers inside the steps of a checkpointed loop, and gradients, which steps do not use."""

from __future__ import annotations

from mlirad.ad.checkpoint.actions import TransferAgain
from mlirad.ad.checkpoint.current_step import CurrentStep
from mlirad.ad.checkpoint.recorded import Recorded
from mlirad.ad.checkpoint.touched import Touched
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recorder.transferred import arrays_of, carried, flows_of
from mlirad.ad.recording.ledger import Ledger
from mlirad.lang.callers import caller
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import Recorder
from mlirad.lang.transfer import Pass, Transfer


class StepTransfers(Recorder):
    """A transfer is something that a step does, and does again."""

    tape: Recording
    ledger: Ledger
    log: Recorded
    step: CurrentStep
    touched: Touched
    taped: bool

    def transfer(self, transfer: Transfer) -> None:
        """Carry out a transfer. Raises TaichiRuntimeError where it writes what was not declared."""
        self.finish_write()
        place = caller()
        for piece in transfer.targets:
            self.touched.note_target(piece.target, transfer.name, place, is_written=True)
        for piece in transfer.sources:
            self.touched.note_target(piece.target, transfer.name, place, is_written=False)
        self.log.arrays.update(arrays_of(transfer))
        if self.taped:
            self.tape.transfer(transfer)
            return
        number, is_cut = transfer.number(), self.is_replacing or self.tape.is_cut
        if carried(self.ledger, transfer, Pass.TAPE, number, place, is_cut=is_cut):
            self.log.named.update(dict.fromkeys(flows_of(self.ledger, transfer, place)))
        transfer.run()
        self.step.do(TransferAgain(), transfer, number)

    # Gradients, which the reverse changes, are nothing that steps use.

    def launch_reverse(self, launch: Launch) -> None:
        """Raise TaichiRuntimeError: a step is run again while gradients hold adjoints."""
        raise self.touched.error(
            f"{launch.kernel.__name__}.grad(), called at {caller()}, writes to gradients, which "
            "the reverse changes"
        )

    def clear_gradients(self) -> None:
        """What steps use are not gradients."""
