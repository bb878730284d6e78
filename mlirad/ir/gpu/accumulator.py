"""The accumulator of a thread's part of a sum: in registers, in a type that the threads of a block
can pass to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import reduce_in_block, thread_number
from mlirad.ir.marks.rounding import round_as, update_marks
from mlirad.ir.ops import Arith
from mlirad.ir.reductions import Reduction
from mlirad.ir.walk import at_end

LAST_BLOCK = 256  # threads, of a launch that adds up parts of sums


class Accumulator:
    """A sum, in 32 bits or more: `f16` is added up as `f32`."""

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        self.kind, self.marks = reduction.kind, update_marks(reduction.updates[0])
        narrow = reduction.type
        self._is_float = b.is_float(narrow)
        width = (ir.FloatType if self._is_float else ir.IntegerType)(narrow).width
        self._is_wider = width < 32
        wide = ir.F32Type.get() if self._is_float else b.integer_type(32)
        self.type = wide if self._is_wider else narrow
        self.bytes = max(width, 32) // 8

    def widen(self, value: ir.Value) -> ir.Value:
        """A value of an update, as one of the sum."""
        if not self._is_wider:
            return value
        integers = Arith.EXTUI if self.kind in (AtomicKind.MINU, AtomicKind.MAXU) else Arith.EXTSI
        return b.make(Arith.EXTF if self._is_float else integers, self.type, [value])

    def narrow(self, value: ir.Value) -> ir.Value:
        """Return the sum so far, as a value of an update."""
        if not self._is_wider:
            return value
        name = Arith.TRUNCF if self._is_float else Arith.TRUNCI
        return round_as(b.make(name, self.reduction.type, [value]), self.marks)

    def neutral(self) -> ir.Value:
        """Return the value of an empty sum."""
        return self.widen(self.reduction.neutral())

    def combine(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """The update of one partial sum by another. What is not a number is no minimum and no
        maximum, for partial sums are not taken in the order of the program."""
        if self._is_float and self.kind in (AtomicKind.MIN, AtomicKind.MAX):
            return b.make(f"arith.{self.kind}numf", self.type, [left, right])
        return round_as(b.combine(self.kind, left, right), self.marks)

    def over_block(self, value: ir.Value) -> ir.Value:
        """The sum over the threads of a block, in each of them."""
        return reduce_in_block(self.kind, value)


def empty_slots(sums: Sequence[Accumulator]) -> list[ir.Value]:
    """A slot for each sum, at the insertion point."""
    slots = []
    for sum_ in sums:
        slots.append(b.slot(sum_.type))
        b.write(sum_.neutral(), slots[-1])
    return slots


def sums_of_parts(
    sums: Sequence[Accumulator],
    first: ir.Value,
    count: ir.Value,
    step: ir.Value,
    partial_sums: Callable[[ir.Value], list[ir.Value]],
) -> list[ir.Value]:
    """Return a thread's sums of parts of each sum: from the `first` on, one per `step`."""
    turns = b.for_loop(first, count, step, [sum_.neutral() for sum_ in sums])
    with at_end(turns.body, ir.Location.current):
        values = partial_sums(turns.induction)
        b.yield_([s.combine(c, v) for s, c, v in zip(sums, turns.carried, values)])
    return list(turns.results)


@contextmanager
def first_thread(
    sums: Sequence[Accumulator], totals: Sequence[ir.Value]
) -> Iterator[list[ir.Value]]:
    """The sums over the threads of a block: what is built within is run by the first of them."""
    over_block = [sum_.over_block(total) for sum_, total in zip(sums, totals)]
    is_first = b.compare(b.EQ, thread_number(), b.index(0))
    chosen = b.if_else(is_first, [], with_else=False)
    with at_end(chosen.then, ir.Location.current):
        yield over_block
        b.yield_()


def add_slots(
    sums: Sequence[Accumulator], outer: Sequence[ir.Value], inner: Sequence[ir.Value]
) -> None:
    """Add what slots hold to others."""
    for sum_, target, source in zip(sums, outer, inner):
        b.write(sum_.combine(b.read(target), b.read(source)), target)
