"""A function with long blocks, and how values go between the pieces of one."""

from __future__ import annotations

from math import prod
from operator import itemgetter

from mlirad.analysis.lanes.cost import is_function
from mlirad.bindings import ir
from mlirad.ir.memory.origins import Origins
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import at_start, before, block_operations, entry_of
from mlirad.passes.cpu.split_long_blocks.block_values import BlockValues, Use
from mlirad.passes.cpu.split_long_blocks.cuts import STAYS, Cuts
from mlirad.passes.cpu.split_long_blocks.frame import Frame
from mlirad.passes.cpu.split_long_blocks.piece import Piece
from mlirad.passes.cpu.split_long_blocks.repeated_sums import repeat_sums

_NEAR = 20  # a part of the length of a piece
_LANE_CALLS = 3  # ops for each lane of an elementary function that is called lane by lane


class LongFunction:
    """A function, and how many pieces it has lost."""

    def __init__(self, function: ir.Operation, length: int) -> None:
        self.function, self.length, self.count = function, length, 0

    def run(self) -> None:
        """Cut its blocks, inner ones before those around them."""
        with self.function.location:
            self._size(self.function)

    def _size(self, op: ir.Operation) -> int:
        """Return how many operations an op counts as, once what it holds is cut."""
        size = _calls(op)
        for region in op.regions:
            blocks = list(region.blocks)
            for block in blocks:
                ops = block_operations(block)
                sizes = [
                    self._size(inner) if len(inner.regions) else _calls(inner) for inner in ops
                ]
                if len(blocks) == 1 and 2 * sum(sizes) > 3 * self.length:
                    size += self._cut(ops, sizes)
                else:
                    size += sum(sizes)
        return size

    def _cut(self, ops: list[ir.Operation], sizes: list[int]) -> int:
        """Cut a block, of so many ops each; how many it then has."""
        size_of = dict(zip(ops, sizes))
        ops = repeat_sums(ops, self.length // _NEAR)
        sizes = [size_of.get(op, 1) for op in ops]
        values = BlockValues(ops)
        cuts = Cuts(values, sizes, self.length)
        if not cuts.pieces:
            return sum(sizes)
        flows = _Flows(values, cuts)
        with at_start(entry_of(self.function), self.function.location):
            memory = flows.frame.memory()
        for numbers, given_uses, read in zip(cuts.pieces, flows.given, flows.read):
            flows.read_around(ops, memory, numbers[0])
            name = f"{symbol_of(self.function)}.part{self.count}"
            piece = Piece(ops, numbers, given_uses, read)
            piece.outline(self.function, name, flows.frame, memory, flows.origins)
            self.count += 1
        flows.read_around(ops, memory, len(ops))
        return len(cuts.pieces) + sum(s for s, home in zip(sizes, cuts.homes) if home == STAYS)


class _Flows:
    """The flow of values between the pieces of a block: which each is given, which it reads from
    the frame, and which are read from there where no piece is."""

    def __init__(self, values: BlockValues, cuts: Cuts) -> None:
        count = len(cuts.pieces)
        self.given: list[dict[ir.Value, list[Use]]] = [{} for _ in range(count)]
        self.read: list[dict[ir.Value, list[Use]]] = [{} for _ in range(count)]
        self.frame = Frame()
        uses_of: dict[tuple[ir.Value, int], list[Use]] = {}
        for value, uses in values.uses.items():
            at = values.made.get(value)
            home = STAYS if at is None else cuts.homes[at]
            for use in uses:
                piece = cuts.homes[use.at]
                if piece == home:
                    continue
                if piece == STAYS:
                    uses_of.setdefault((value, use.at), []).append(use)
                else:
                    flow = self.given if home == STAYS else self.read
                    flow[piece].setdefault(value, []).append(use)
        self.origins = Origins()
        for value in values.uses:  # while all are made where they are
            self.origins.targets_of(value)
        kept_values = ((at, value, uses) for (value, at), uses in uses_of.items())
        self.kept = sorted(kept_values, key=itemgetter(0))
        self._take_places(values, cuts)

    def read_around(self, ops: list[ir.Operation], memory: ir.Value, end: int) -> None:
        """Read what ops up to a number use that are in no piece."""
        while self.kept and self.kept[0][0] < end:
            at, value, uses = self.kept.pop(0)
            with before(ops[at]):
                loaded = self.frame.read(value, memory)
            self.origins.stands_for(loaded, value)
            for use in uses:
                use.user.operands[use.position] = loaded

    def _take_places(self, values: BlockValues, cuts: Cuts) -> None:
        """Give values places in the frame, from the piece that makes them to the last that reads
        them."""
        last: dict[ir.Value, int] = {}
        for piece, read in enumerate(self.read):
            last.update((value, piece) for value in read)
        last.update((value, len(cuts.pieces)) for _, value, _ in self.kept)
        values_of_pieces: list[list[ir.Value]] = [[] for _ in cuts.pieces]
        over: list[list[ir.Value]] = [[] for _ in range(len(cuts.pieces) + 1)]
        for value, end in last.items():
            values_of_pieces[cuts.homes[values.made[value]]].append(value)
            over[end].append(value)
        for new, old in zip(values_of_pieces, over):
            for value in new:
                self.frame.take(value)
            self.frame.give_back(old)


def _calls(op: ir.Operation) -> int:
    """Return how many operations an op becomes."""
    if is_function(op) and isinstance(op.results[0].type, ir.VectorType):
        return _LANE_CALLS * prod(op.results[0].type.shape)
    return 1
