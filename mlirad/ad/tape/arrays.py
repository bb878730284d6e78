"""The array arguments of the launches on a tape."""

from __future__ import annotations

from mlirad.ad.tape.array_gradients import ArrayGradients
from mlirad.ad.tape.held_arrays import HeldArrays
from mlirad.ad.tape.known_arrays import KnownArrays
from mlirad.ad.tape.unseen_writes import UnseenWrites
from mlirad.runtime.program import Program


class Arrays:
    """What a tape knows of array arguments: which there are, their gradients, and what Python
    writes to them."""

    def __init__(self, program: Program) -> None:
        self.known = KnownArrays()
        self.gradients = ArrayGradients(program, self.known)
        self.unseen = UnseenWrites(self.known)
        self.held = HeldArrays(self.known)  # within a budget
