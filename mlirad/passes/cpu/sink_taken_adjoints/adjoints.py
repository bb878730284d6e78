"""Operations on adjoints that an iteration takes (see `sink_taken_adjoints`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from mlirad.analysis.guard_segments import is_opaque, is_pure, touched_memory, used_values
from mlirad.analysis.lanes.updates import Update, Updates
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import is_of_derivative, rounds
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.structured import For
from mlirad.ir.walk import before, block_operations, is_zero

_SUMS = (Arith.ADDF, Arith.SUBF)
_OF_FIRST = (Arith.DIVF, Arith.NEGF, Arith.EXTF, Arith.TRUNCF)


def sink(loop: ir.Operation, adjoints: Sequence[ir.Value], fewest: int) -> None:
    """Let what a body makes of some adjoints run where one of them is not 0."""
    users = _AdjointUsers(For(loop).body, adjoints)
    users.place()
    if len(users.sunk) >= fewest:
        users.move()


class _AdjointUsers:
    """The ops of a block that give 0, or change nothing, where some adjoints are 0, and their
    places: `sunk` are those that may run under a condition, `behind` those that then come behind
    it."""

    def __init__(self, block: ir.Block, adjoints: Sequence[ir.Value]) -> None:
        *self.ops, self.end = block_operations(block)
        self.taken, self.zeros = adjoints, set(adjoints)
        self.kept: dict[ir.Value, ir.Value] = {}  # of sums: what they are where 0 is added
        self.updates: dict[ir.Operation, Update] = {}  # by each of their ops
        updates = Updates()
        for op in self.ops:
            self._see(op, updates)
        self.sunk: list[ir.Operation] = []
        self.behind: list[ir.Operation] = []

    def _see(self, op: ir.Operation, updates: Updates) -> None:
        if op.name == Memref.STORE:
            update = updates.update_of(op)
            if update is not None and self._is_of_zero(update):
                self.updates.update(dict.fromkeys((update.load, *update.steps, op), update))
        elif not is_pure(op) or _is_fixed(op) or not b.is_float(op.results[0].type):
            return
        elif _is_zero_of(op, self.zeros):
            self.zeros.update(op.results)
        elif op.name in _SUMS:
            left, right = op.operands
            if right in self.zeros:
                self.kept[op.results[0]] = self.kept.get(left, left)
            elif left in self.zeros and op.name == Arith.ADDF:
                self.kept[op.results[0]] = self.kept.get(right, right)

    def _is_of_zero(self, update: Update) -> bool:
        return (
            update.is_sum
            and update.steps[0].name in _SUMS
            and not _is_fixed(update.steps[0])
            and update.value in self.zeros
        )

    def place(self) -> None:
        """Say where ops go."""
        left: set[ir.Operation] = set()  # that have to stay out
        while True:
            self._place_but(left)
            sunk = set(self.sunk)
            parted = {op for op in sunk if self._is_wanted(op, sunk)}
            if not parted:
                break
            left |= parted
        self._take_along(sunk)

    def _place_but(self, left: set[ir.Operation]) -> None:
        moved, later = _MovedOps(), _MovedOps()
        self.sunk, self.behind = [], []
        for op in self.ops:
            depends = moved.holds(op)
            if later.holds(op) or (depends and (op in left or not self._may_sink(op))):
                self.behind.append(op)
                later.take(op)
            elif op not in left and (self._is_made(op) or (depends and self._may_sink(op))):
                self.sunk.append(op)
            else:
                continue
            moved.take(op)

    def _is_made(self, op: ir.Operation) -> bool:
        """Return whether it is known what an op gives, or does, where nothing is taken."""
        if op in self.updates:
            return True
        if len(op.results) != 1 or op.results[0] in self.taken:
            return False
        return op.results[0] in self.zeros or op.results[0] in self.kept

    def _may_sink(self, op: ir.Operation) -> bool:
        return is_pure(op) or op in self.updates

    def _is_wanted(self, op: ir.Operation, sunk: set[ir.Operation]) -> bool:
        """Return whether something that does not sink wants what an op gives, or the rest of its
        update, and that is not known where nothing is taken."""
        if op in self.updates:
            update = self.updates[op]
            return any(step not in sunk for step in (update.load, *update.steps, update.store))
        return not self._is_made(op) and any(
            use.owner.operation not in sunk for result in op.results for use in result.uses
        )

    def _take_along(self, sunk: set[ir.Operation]) -> None:
        """Sink what only those use that are sunk."""
        staying, kept_values = set(self.behind), {*self.taken, *self.kept.values()}
        for op in reversed(self.ops):
            if op in sunk or op in staying or not is_pure(op) or op.name == Arith.CONSTANT:
                continue
            if op.results[0] in kept_values:
                continue
            users = [use.owner.operation for result in op.results for use in result.uses]
            if users and all(user in sunk for user in users):
                sunk.add(op)
        self.sunk = [op for op in self.ops if op in sunk]

    def move(self) -> None:
        """Put ops where they go."""
        sunk = set(self.sunk)
        uses = {
            value: outside_uses
            for op in self.sunk
            for value in op.results
            if (outside_uses := [use for use in value.uses if use.owner.operation not in sunk])
        }
        places = [
            (position, use.owner.operation, use.operand_number)
            for position, outside_uses in enumerate(uses.values())
            for use in outside_uses
        ]
        for op in self.behind:
            op.move_before(self.end)
        with before(self.behind[0] if self.behind else self.end):
            types = [value.type for value in uses]
            branch = b.if_else(_is_any(self.taken), types, with_else=bool(uses))
            with ir.InsertionPoint(branch.then):
                b.yield_(list(uses))
            if uses:
                with ir.InsertionPoint(branch.otherwise):
                    b.yield_([self._default_of(value) for value in uses])
        last = block_operations(branch.then)[-1]
        for op in self.sunk:
            op.move_before(last)
        for position, user, operand in places:
            user.operands[operand] = branch.results[position]

    def _default_of(self, value: ir.Value) -> ir.Value:
        """Return what a value is where nothing is taken."""
        return self.kept[value] if value in self.kept else b.number(0, value.type)


class _MovedOps:
    """Ops that move to the end of a block."""

    def __init__(self) -> None:
        self._made: set[ir.Value] = set()
        self._read: set[ir.Value] = set()
        self._written: set[ir.Value] = set()
        self._is_any = False

    def take(self, op: ir.Operation) -> None:
        """Move another."""
        self._made.update(op.results)
        read, written = touched_memory(op)
        self._read |= read
        self._written |= written
        self._is_any = True

    def holds(self, op: ir.Operation) -> bool:
        """Return whether the next op has to stay behind these."""
        if self._is_any and is_opaque(op):
            return True
        read, written = touched_memory(op)
        return (
            not self._made.isdisjoint(used_values(op))
            or not self._written.isdisjoint(read | written)
            or not self._read.isdisjoint(written)
        )


def _is_fixed(op: ir.Operation) -> bool:
    """Return whether an op rounds, and is not a step of a derivative."""
    return rounds(op) and not is_of_derivative(op)


def _is_zero_of(op: ir.Operation, zeros: set[ir.Value]) -> bool:
    """Return whether a derivative's op gives 0, or nothing that counts, where some values are 0."""
    operands = list(op.operands)
    if op.name == Arith.MULF:
        return any(v in zeros for v in operands)
    if op.name in _OF_FIRST:
        return operands[0] in zeros
    if op.name in _SUMS:
        return all(v in zeros for v in operands)
    if op.name == Arith.SELECT:
        return all(v in zeros or is_zero(v) for v in operands[1:])
    return False


def _is_any(values: Sequence[ir.Value]) -> ir.Value:
    """Return whether one of some numbers is not 0."""
    tests = [b.compare_floats(b.UNE, v, b.number(0, v.type)) for v in values]
    return reduce(b.ori, tests)
