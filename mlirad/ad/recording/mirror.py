"""A copy of what reverses need of an array that Python may change unseen: one of NumPy's or
torch's."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.recording.entries import Entry
from mlirad.ad.recording.versions import Version
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.values import Values
from mlirad.types import from_numpy


class Mirror:
    """Kernels run on the program's array (`theirs`), their reverses on this copy (`copy`), which
    Python cannot reach.

    It holds the elements that launches have looked at. Where one of them differs when the next
    launch looks, Python has written it since.
    """

    def __init__(self, buffer: ArrayBuffer) -> None:
        self._buffer = buffer
        self.copy = Ndarray(from_numpy(buffer.dtype), buffer.dims, (), False)

    def take(self, box: Box) -> None:
        """Hold the elements of a box as a launch left them."""
        self.copy.elements.take(self._buffer.original_elements(), box)

    def differs(self, box: Box) -> bool:
        """Return whether the program's array holds something else in a box."""
        return not self.copy.elements.holds(self._buffer.original_elements(), box)

    def look(
        self, box: Box, keep: Callable[[], list[Version]], adjoint: ArrayBuffer | None
    ) -> UnseenWrite | None:
        """Hold the elements of a box as they are now; what Python wrote since.

        `keep` copies what earlier reverses need of what was there before.
        """
        if not self.differs(box):
            return None
        theirs, mirrored, saved = self._buffer.original_elements(), self.copy.elements, keep()
        changed = None if adjoint is None else mirrored.differing(theirs.read(box), box)
        mirrored.take(theirs, box)
        if changed is not None:
            for tangent in self.copy.tangents:
                tangent.elements.fill(0, box, changed)
        return UnseenWrite(saved, box, changed, adjoint)


class UnseenWrite(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A write from Python to an array argument: a store of constants to the elements that differ
    since."""

    saved: list[Version]
    box: Box
    changed: Values | None
    adjoint: ArrayBuffer | None

    @property
    def matters(self) -> bool:
        """Return whether a reverse needs what was there, or a derivative may have passed through
        it."""
        return bool(self.saved) or self.changed is not None

    def reverse(self) -> None:
        """Clear the adjoint: what was there before has no influence any more."""
        if self.changed is None or self.adjoint is None:
            return
        owner = self.adjoint.owner
        tangents = owner.tangents if isinstance(owner, Ndarray) else []
        for elements in (self.adjoint.elements(), *(tangent.elements for tangent in tangents)):
            elements.fill(0, self.box, self.changed)

    def repeat(self) -> None:
        """Raise TaichiRuntimeError: what was written into the program's own array is not kept."""
        raise TaichiRuntimeError(
            "a tape in which Python changed an array argument cannot run again to check its "
            "gradients: pass ti.ad.check the function that computes the loss"
        )

    def __str__(self) -> str:
        return "a write from Python to an array argument"
