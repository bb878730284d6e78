"""The arguments of launches in the steps of a checkpointed loop that are arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from mlirad.ad.checkpoint.touched import Touched
from mlirad.ad.tape.entries import Entry, named_flows, written_boxes
from mlirad.ad.tape.known_arrays import KnownArray
from mlirad.ad.tape.ledger import Ledger
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.recorder import LaunchedKernel
from mlirad.runtime.variant import Variant


class StepArrays:
    """What the tape knows of them."""

    def __init__(self, ledger: Ledger, touched: Touched) -> None:
        self.ledger, self.touched = ledger, touched
        self._shared: dict[Hashable, tuple[ArrayBuffer, ...]] = {}

    def named(self, buffers: Sequence[ArrayBuffer]) -> list[KnownArray]:
        """What flows call array arguments that were seen before."""
        return [self.ledger.arrays.known.know(buffer, "") for buffer in buffers]

    def note_carried(
        self, piece: Variant, values: Sequence[Any], named: Sequence[KnownArray]
    ) -> None:
        """Tell the tape what a launch, which it does not record itself, leaves in arrays."""
        footprints = piece.notes.footprints()
        self.ledger.carriers.follow(self.ledger.entries)
        self.ledger.carriers.launched(
            named_flows(footprints.flows.between, piece, named),
            lambda array: written_boxes(array, footprints, piece, values, named),
        )

    def mirrored(self, kernel: LaunchedKernel, buffer: ArrayBuffer, loop: Entry) -> ArrayBuffer:
        """The array that steps of a loop read when they are done again: of one that Python may
        change unseen, the tape's copy.

        Raises TaichiRuntimeError where Python has changed it since a step that read it.
        """
        arrays, entries = self.ledger.arrays, self.ledger.entries
        one = arrays.known.know(buffer, kernel.__name__)
        if one.mirror is None:
            return buffer
        if self.touched.has_read(one.mirror.own.address) and one.mirror.differs(one.whole):
            raise self.touched.error(
                f"array argument '{buffer.name}' of kernel '{kernel.__name__}' holds something "
                "else than in an earlier step: pass a ti.ndarray, or a new array for each step"
            )
        position = entries.index(loop)
        entries[position:position] = arrays.unseen.look_at(one, self.ledger.versions)
        return one.of_reverse(buffer)

    def shared(self, buffers: Sequence[ArrayBuffer]) -> tuple[ArrayBuffer, ...]:
        """The array arguments of a launch; the same tuple for the same arrays."""
        if not buffers:
            return ()
        key = tuple(
            [
                (b.address, b.dims, id(b.owner), b.grad.address if b.grad is not None else 0)
                for b in buffers
            ]
        )
        return self._shared.setdefault(key, tuple(buffers))
