"""The arguments of launches in the steps of a checkpointed loop that are arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mlirad.ad.checkpoint.step_accesses import StepAccesses
from mlirad.ad.recording.array_table import TapeArray
from mlirad.ad.recording.entries import Entry, named_flows, written_boxes
from mlirad.ad.recording.ledger import Ledger
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.kernels.launch import Launch


class StepArrays:
    """The arrays, as the tape knows them."""

    def __init__(self, ledger: Ledger, accesses: StepAccesses, loop: Entry) -> None:
        self.ledger, self.accesses = ledger, accesses
        self.loop = loop  # that the tape has
        self._shared: dict[Hashable, tuple[ArrayBuffer, ...]] = {}

    def named_arrays(self, launch: Launch) -> list[TapeArray]:
        """Return what flows call array arguments that were seen before."""
        return [self.ledger.arrays.table.know(array, "") for array in launch.arrays]

    def note_carried(self, launch: Launch, named: Sequence[TapeArray]) -> None:
        """Tell the tape what a launch, which it does not record itself, leaves in arrays."""
        footprints = launch.variant.notes.footprints()
        self.ledger.carriers.follow(self.ledger.entries)
        self.ledger.carriers.note_launch(
            named_flows(footprints.flows.between, launch.variant, named),
            lambda array: written_boxes(array, footprints, launch, named),
        )

    def on_mirrors(self, launch: Launch) -> Launch:
        """A launch on the arrays that steps of a loop read when they are done again: of those that
        Python may change unseen, the tape's copies.

        Raises TaichiRuntimeError where Python has changed one since a step that read it.
        """
        return launch.with_arrays([self._mirror(launch, array) for array in launch.arrays])

    def _mirror(self, launch: Launch, buffer: ArrayBuffer) -> ArrayBuffer:
        arrays, entries = self.ledger.arrays, self.ledger.entries
        name = launch.kernel.__name__
        array = arrays.table.know(buffer, name)
        mirror = array.mirror
        if mirror is None:
            return buffer
        if self.accesses.has_read(mirror.copy.address) and mirror.differs(array.full_box):
            raise self.accesses.error(
                f"array argument '{buffer.name}' of kernel '{name}' has changed since an earlier "
                "step: pass a ti.ndarray, or a new array for each step"
            )
        unseen = arrays.unseen.look_at(array, self.ledger.versions)
        if unseen:
            position = entries.index(self.loop)
            entries[position:position] = unseen
        return array.of_reverse(buffer)

    def on_shared_arrays(self, launch: Launch) -> Launch:
        """A launch whose arrays are the same tuple as those of others on the same arrays."""
        if not launch.arrays:
            return launch
        key = tuple(
            [
                (b.address, b.dims, id(b.owner), b.grad.address if b.grad is not None else 0)
                for b in launch.arrays
            ]
        )
        return launch.with_arrays(self._shared.setdefault(key, tuple(launch.arrays)))
