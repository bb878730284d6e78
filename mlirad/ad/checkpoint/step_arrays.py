"""The arguments of launches in the steps of a checkpointed loop that are arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mlirad.ad.checkpoint.touched import Touched
from mlirad.ad.recording.entries import Entry, named_flows, written_boxes
from mlirad.ad.recording.known_arrays import KnownArray
from mlirad.ad.recording.ledger import Ledger
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.kernels.launch import Launch


class StepArrays:
    """What the tape knows of them."""

    def __init__(self, ledger: Ledger, touched: Touched, loop: Entry) -> None:
        self.ledger, self.touched = ledger, touched
        self.loop = loop  # that the tape has
        self._shared: dict[Hashable, tuple[ArrayBuffer, ...]] = {}

    def named(self, launch: Launch) -> list[KnownArray]:
        """What flows call array arguments that were seen before."""
        return [self.ledger.arrays.known.know(array, "") for array in launch.arrays]

    def note_carried(self, launch: Launch, named: Sequence[KnownArray]) -> None:
        """Tell the tape what a launch, which it does not record itself, leaves in arrays."""
        footprints = launch.variant.notes.footprints()
        self.ledger.carriers.follow(self.ledger.entries)
        self.ledger.carriers.launched(
            named_flows(footprints.flows.between, launch.variant, named),
            lambda array: written_boxes(array, footprints, launch, named),
        )

    def mirrored(self, launch: Launch) -> Launch:
        """A launch on the arrays that steps of a loop read when they are done again: of those that
        Python may change unseen, the tape's copies.

        Raises TaichiRuntimeError where Python has changed one since a step that read it.
        """
        return launch.with_arrays([self._mirror(launch, array) for array in launch.arrays])

    def _mirror(self, launch: Launch, buffer: ArrayBuffer) -> ArrayBuffer:
        arrays, entries = self.ledger.arrays, self.ledger.entries
        name = launch.kernel.__name__
        one = arrays.known.know(buffer, name)
        if one.mirror is None:
            return buffer
        if self.touched.has_read(one.mirror.own.address) and one.mirror.differs(one.whole):
            raise self.touched.error(
                f"array argument '{buffer.name}' of kernel '{name}' holds something "
                "else than in an earlier step: pass a ti.ndarray, or a new array for each step"
            )
        position = entries.index(self.loop)
        entries[position:position] = arrays.unseen.look_at(one, self.ledger.versions)
        return one.of_reverse(buffer)

    def shared(self, launch: Launch) -> Launch:
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
