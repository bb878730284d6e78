"""Collective communication as linear maps, with their transposes (see docs/distributed.md)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.distributed.ranks import Ranks
from mlirad.lang.recorder import Target
from mlirad.lang.transfer import Decision, Pass, Piece, Transfer

Array = np.ndarray[Any, Any]


class Communication(Transfer):
    """A transfer that all ranks take part in; `text` says what it is, in the same words in each."""

    def __init__(
        self,
        ranks: Ranks,
        name: str,
        text: str,
        sources: Sequence[Piece],
        targets: Sequence[Piece],
        sent: Sequence[Target],
        reached: Sequence[Target],
    ) -> None:
        self.ranks, self.name, self.text = ranks, name, text
        self.sources, self.targets = sources, targets
        self.sent, self.reached = sent, reached

    def number(self) -> int:
        """A number for one carrying out."""
        return self.ranks.number()

    def agree(self, why: Pass, number: int, carries: bool) -> bool:
        """Return whether a derivative passes in one of the ranks."""
        return self.ranks.agree(f"communication {number}: {self.text} ({why.value})", carries)


class Linear(Communication):
    """A communication that chooses nothing."""

    @abstractmethod
    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """The map."""

    def apply(self, values: Sequence[Array]) -> tuple[Sequence[Array], Decision]:
        """The map."""
        return self.forward(values), None

    def push(self, tangents: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """The map."""
        return self.forward(tangents)


class AllSum(Linear):
    """The sum over all ranks, in each; the transpose is the same."""

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """The sums."""
        return [self.ranks.sum_everywhere(value) for value in values]

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """The sums."""
        return self.forward(adjoints)


class RootTransfer(Linear):
    """A communication in which a rank, the `root`, has another part than the others."""

    root: int

    @property
    def is_root(self) -> bool:
        """Return whether this rank is the root."""
        return self.ranks.rank == self.root


class SumAt(RootTransfer):
    """The sum over all ranks, in one; in transposition, all get what it has."""

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """The sum, in the root."""
        total = self.ranks.sum_at(values[0], self.root)
        return [total] if self.is_root else []

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """The root's adjoint, in all."""
        head = adjoints[0] if self.is_root else _empty(self.sources[0])
        return [self.ranks.from_root(head, self.root)]


class FromRoot(RootTransfer):
    """The values of one rank, in all others; in transposition, it gets the sum of theirs."""

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """The root's values, in the others."""
        value = values[0] if self.is_root else _empty(self.targets[0])
        received = self.ranks.from_root(value, self.root)
        return [] if self.is_root else [received]

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """The sum of the others' adjoints, in the root."""
        head = np.zeros_like(_empty(self.sources[0])) if self.is_root else adjoints[0]
        total = self.ranks.sum_at(head, self.root)
        return [total] if self.is_root else []


class Gather(RootTransfer):
    """The values of all ranks, behind one another, in one."""

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """Return all parts, in the root."""
        array = self.ranks.gather(values[0], self.root)
        return [array] if self.is_root else []

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Each its part of the root's."""
        block = _empty(self.sources[0])
        head = adjoints[0] if self.is_root else None
        return [self.ranks.scatter(head, block.shape, block.dtype, self.root)]


class Scatter(RootTransfer):
    """Each rank gets its part of what one has."""

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """Each its part."""
        block = _empty(self.targets[0])
        value = values[0] if self.is_root else None
        return [self.ranks.scatter(value, block.shape, block.dtype, self.root)]

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Return all parts, in the root."""
        array = self.ranks.gather(adjoints[0], self.root)
        return [array] if self.is_root else []


class SendReceive(Linear):
    """Each rank sends to one, or none, and receives from one, or none."""

    to: int | None
    origin: int | None

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """Return the message that arrives."""
        return self._message(values, self.to, self.targets, self.origin)

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Return the adjoint that comes back."""
        return self._message(adjoints, self.origin, self.sources, self.to)

    def _message(
        self, values: Sequence[Array], to: int | None, into: Sequence[Piece], origin: int | None
    ) -> Sequence[Array]:
        buffers = [_empty(piece) for piece in into]
        sends = [] if to is None else [(to, 0, np.ascontiguousarray(value)) for value in values]
        receives = [] if origin is None else [(origin, 0, buffer) for buffer in buffers]
        self.ranks.post(sends, receives)()
        return buffers


class Extreme(Communication):
    """Each element becomes the largest, or the smallest, of all ranks': of several that are, that
    of the lowest rank gets the derivative. `root` alone is written to, where there is one."""

    is_max: bool
    root: int | None

    def apply(self, values: Sequence[Array]) -> tuple[Sequence[Array], Decision]:
        """The extreme elements, and whether they are this rank's."""
        extremes, who = self.ranks.extreme_everywhere(values[0], self.is_max)
        return ([extremes] if self.targets else []), who == self.ranks.rank

    def push(self, tangents: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """The tangents of the rank whose element was chosen."""
        tangent = np.where(decision, tangents[0], 0).astype(tangents[0].dtype)
        if self.root is None:
            return [self.ranks.sum_everywhere(tangent)]
        total = self.ranks.sum_at(tangent, self.root)
        return [total] if self.targets else []

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """The adjoints, for the rank whose element was chosen."""
        if self.root is None:
            total = self.ranks.sum_everywhere(adjoints[0])
        else:
            head = adjoints[0] if self.targets else _empty(self.sources[0])
            total = self.ranks.from_root(head, self.root)
        return [np.where(decision, total, 0).astype(total.dtype)]

    def kept_bytes(self, decision: Decision) -> int:
        """A byte an element."""
        return int(decision.nbytes)


def _empty(piece: Piece) -> Array:
    """Room for what is at a piece that is all of a target."""
    target = piece.target
    return np.empty((*target.shape, *target.element_shape), target.dtype.numpy)
