"""Transfers inside a tape."""

from __future__ import annotations

from mlirad.ad.recorder.recorded_calls import RecordedCalls
from mlirad.ad.recorder.transferred import box_of_piece, record_transfer
from mlirad.ad.recording.target_memory import memory_of
from mlirad.lang.callers import caller
from mlirad.lang.transfer import Pass, Transfer


class RecordedTransfers(RecordedCalls):
    """What Python communicates is recorded, with what it overwrites of what reverses read."""

    def transfer(self, transfer: Transfer) -> None:
        """Carry out a transfer, and record it; inside a function with a gradient of its own, note
        what it touches."""
        self.finish_write()
        number = transfer.number()
        if self.call is None:
            record_transfer(self.ledger, self.order, transfer, number, is_cut=self.is_cut)
        else:
            self.transfer_alone(transfer, Pass.TAPE, number)

    def transfer_again(self, transfer: Transfer, number: int) -> None:
        """The same for one that is done again, with the number that it had."""
        if self.call is None:
            record_transfer(self.ledger, self.order, transfer, number, is_cut=self.is_cut)
        else:
            self.transfer_alone(transfer, Pass.AGAIN, number)

    def transfer_alone(self, transfer: Transfer, why: Pass, number: int) -> None:
        """Carry out a transfer inside a function with a gradient of its own."""
        call, place = self.call, caller()
        assert call is not None
        transfer.agree(why, number, False)
        for piece in transfer.sources:
            key, elements, _ = memory_of(piece.target)
            call.read(key, elements, box_of_piece(piece))
        for piece in transfer.targets:
            key, elements, _ = memory_of(piece.target)
            call.write_from_python(key, elements, box_of_piece(piece), place)
        transfer.run()
