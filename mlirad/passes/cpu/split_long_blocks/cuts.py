"""The places where a long block is cut: few values are alive there."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir.ops import Memref
from mlirad.passes.cpu.split_long_blocks.block_values import (
    BlockValues,
    does_again,
    is_done_again,
)
from mlirad.passes.cpu.split_long_blocks.frame import stored_type

STAYS = -1  # the number of no piece: an op that stays in the block
# Ops of which it does not matter when they run, beside those that are done again.
_ANY_TIME = (Memref.ALLOCA, Memref.ALLOC, Memref.SUBVIEW)
_SHORTEST, _LONGEST = 0.75, 1.25  # of a piece, against the mean


class Cuts:
    """The pieces of a block, by the numbers of their ops; `homes` has the piece of each op."""

    def __init__(self, values: BlockValues, sizes: Sequence[int], length: int) -> None:
        self.values, self.sizes, self.length = values, sizes, length
        self.homes = [STAYS] * len(values.ops)
        self.pieces: list[list[int]] = []
        self._again = [does_again(op) for op in values.ops]
        self._alive = self._counts()
        run: list[int] = []
        for at, op in enumerate(values.ops[:-1]):
            again = self._again[at]
            if not again and all(stored_type(result.type) is not None for result in op.results):
                run.append(at)
            elif not (again or op.name in _ANY_TIME) or self._uses_others(op):
                self._cut(run)
                run = []
        self._cut(run)

    def _uses_others(self, op: ir.Operation) -> bool:
        """Return whether an op uses what another in the block makes."""
        return any(
            operand in self.values.made and not is_done_again(operand) for operand in op.operands
        )

    def _counts(self) -> list[int]:
        """Return how many values are alive in front of each op."""
        changes = [0] * (len(self.values.ops) + 1)
        for value, at in self.values.made.items():
            uses = self.values.uses.get(value)
            if uses and not self._again[at]:
                changes[at + 1] += 1
                changes[uses[-1].at + 1] -= 1
        alive, counts = 0, []
        for change in changes:
            alive += change
            counts.append(alive)
        return counts

    def _cut(self, run: list[int]) -> None:
        """Make pieces of ops that follow one another; nothing of few."""
        remaining_size = sum(self.sizes[at] for at in run)
        if 4 * remaining_size < self.length:
            return
        start = 0
        while start < len(run):
            count = -(-remaining_size // self.length)
            end = len(run) if count <= 1 else self._end(run, start, remaining_size / count)
            self._piece(run[start:end])
            remaining_size -= sum(self.sizes[at] for at in run[start:end])
            start = end

    def _end(self, run: list[int], start: int, mean: float) -> int:
        """Return where a piece that begins somewhere ends: the last place among those with the
        fewest values alive."""
        best, fewest, size = start + 1, len(self._alive), 0
        for end in range(start + 1, len(run)):
            size += self.sizes[run[end - 1]]
            if size > _LONGEST * mean:
                break
            alive = self._alive[run[end]]
            if size < _SHORTEST * mean or alive <= fewest:
                best = end
                fewest = len(self._alive) if size < _SHORTEST * mean else alive
        return best

    def _piece(self, numbers: list[int]) -> None:
        for at in numbers:
            self.homes[at] = len(self.pieces)
        self.pieces.append(numbers)
