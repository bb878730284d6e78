"""Values that a loop over pairs computes for the pair (j, i), if its iteration is (i, j)."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.linear import linear_form, unknown
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, GetOp, is_load, is_write, split_access
from mlirad.ir import build as b
from mlirad.ir.elementary.table import INSTRUCTIONS
from mlirad.ir.ops import Arith, Math
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import (
    accesses,
    array_root,
    before,
    block_operations,
    copy_with,
    defining_op,
    enclosing,
    is_defined_in,
    owner_operation,
)
from mlirad.passes.loops.gather_pair_updates.pair_numbers import Number, PairNumbers

LONGEST = 400  # operations that updates are computed by
_DEAR = {Math.SQRT: 6.0, Math.RSQRT: 6.0, Arith.DIVF: 3.0}
_FUNCTION = 20.0
Powers = frozenset[tuple[int, int]]
Known = tuple[float, ir.Value]


class ExchangedPair:
    """A parallel index, that of a serial loop with its bounds, and values for both exchanged."""

    def __init__(
        self, loop: ir.Operation, inner: ir.Operation, first: ir.BlockArgument, *, fast: bool
    ) -> None:
        self.loop, self.inner, self._fast = loop, inner, fast
        self.first, self.second = first, For(inner).induction
        self._others = [index for index in Parallel(loop).indices if index != first]
        self._written = {root for op, root, _ in accesses(loop) if is_write(op)}
        self._values: dict[ir.Value, ir.Value] = {first: self.second, self.second: first}
        self._made: list[ir.Operation] = []

    def is_of_first(self, update: ir.Operation) -> bool:
        """Return whether the first index alone, of both, tells the element of an update."""
        return self._tells(self.first, update)

    def is_of_second(self, update: ir.Operation) -> bool:
        """Return whether the second index does."""
        return self._tells(self.second, update)

    def _tells(self, index: ir.Value, update: ir.Operation) -> bool:
        array, places = split_access(update)
        other_places = [place for place in places if linear_form(place) != unknown(index)]
        return (
            len(other_places) < len(places)
            and not any(is_defined_in(value, self.inner) for value in (array, *other_places))
            and all(
                leaf in self._others or not is_defined_in(leaf, self.loop)
                for place in other_places
                for leaf in linear_form(place).names
            )
        )

    def element(self, update: ir.Operation) -> list[ir.Value]:
        """The indices of the element that the exchanged pair updates, in front of the serial
        loop."""
        return [
            self.first if linear_form(place) == unknown(self.second) else place
            for place in split_access(update)[1]
        ]

    def can_compute(self, value: ir.Value) -> bool:
        """Return whether a value is made by operations that run in each iteration, of the indices,
        and of memory that the loop leaves as it is."""
        needed = self._producers_of([value])
        return needed is not None and len(needed) <= LONGEST

    def compute(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """The values of the exchanged pair, at the end of an iteration."""
        in_order = self._operations()
        needed = self._producers_of(values) or set()
        numbers = PairNumbers(dict(self._values), fast=self._fast)
        values_by_powers: dict[Powers, list[Known]] = {}
        for op in in_order:
            number = numbers.note(op, exchanged=False)
            values_by_powers.setdefault(number.powers, []).append((number.constant, op.results[0]))
        for op in in_order:
            if op in needed:
                numbers.note(op, exchanged=True)
        missing_ops = self._missing_values(values, needed, numbers, values_by_powers)
        for op in in_order:
            if op in missing_ops:
                self._make(op)
        return [self._values.get(value, value) for value in values]

    def _missing_values(
        self,
        values: Sequence[ir.Value],
        needed: set[ir.Operation],
        numbers: PairNumbers,
        values_by_powers: dict[Powers, list[Known]],
    ) -> set[ir.Operation]:
        """Return the operations that are still missing, if existing values stand for all that they
        can."""
        pending, missing_ops = list(values), set[ir.Operation]()
        while pending:
            value = pending.pop()
            op = defining_op(value)
            if op is None or op not in needed or op in missing_ops or value in self._values:
                continue
            number = numbers.number_of(value, exchanged=True)
            if not self._reuse(value, number, values_by_powers.get(number.powers, [])):
                missing_ops.add(op)
                pending += op.operands
        return missing_ops

    def _operations(self) -> list[ir.Operation]:
        """Return the operations and reads of an iteration, in order."""
        outer = block_operations(Parallel(self.loop).body)
        body_ops = [*outer[: outer.index(self.inner)], *block_operations(For(self.inner).body)]
        return [op for op in body_ops if self._only_reads(op)]

    def _reuse(self, value: ir.Value, number: Number, candidates: list[Known]) -> bool:
        """Let a value that exists, or a multiple of it, stand for one of the exchanged pair."""
        if not number.powers:
            return False
        for factor in (1, -1):
            for constant, same in candidates:
                if constant * factor == number.constant and same.type == value.type:
                    self._values[value] = same if factor == 1 else self._opposite(same)
                    return True
        return False

    def _opposite(self, value: ir.Value) -> ir.Value:
        within = is_defined_in(value, self.inner)
        end = block_operations(For(self.inner).body)[-1]
        with before(end if within else self.inner):
            opposite = b.negf(value)
        self._made.append(owner_operation(opposite))
        return opposite

    def cost(self) -> float:
        """Return the additional work of an iteration."""
        return sum(_cost(op) for op in self._made if enclosing(op) == self.inner)

    def take_back(self) -> None:
        """Erase what was computed."""
        for op in reversed(self._made):
            op.erase()

    def _producers_of(self, values: Sequence[ir.Value]) -> set[ir.Operation] | None:
        """Return the operations that compute some values; None if one cannot be repeated."""
        producers: set[ir.Operation] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            op = defining_op(value)
            if not is_defined_in(value, self.loop) or op in producers:
                continue
            if op is None:
                if value in (self.first, self.second, *self._others):
                    continue
                return None
            if enclosing(op) not in (self.loop, self.inner) or not self._only_reads(op):
                return None
            producers.add(op)
            pending += op.operands
        return producers

    def _only_reads(self, op: ir.Operation) -> bool:
        if is_load(op):
            return array_root(split_access(op)[0]) not in self._written
        plain = is_arithmetic(op) or GetOp.holds(op) or DimOp.holds(op)
        return plain and len(op.results) == 1

    def _make(self, op: ir.Operation) -> None:
        operands = [self._values.get(value, value) for value in op.operands]
        within = any(is_defined_in(value, self.inner) for value in operands)
        end = block_operations(For(self.inner).body)[-1]
        with before(end if within else self.inner), op.location:
            clone = copy_with(op, operands)
        self._made.append(clone)
        self._values[op.results[0]] = clone.results[0]


def _cost(op: ir.Operation) -> float:
    if op.name.startswith("math.") and op.name not in INSTRUCTIONS:
        return _DEAR.get(op.name, _FUNCTION)
    return _DEAR.get(op.name, 1.0)
