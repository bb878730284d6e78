"""Trip counts of loops, as far as they are known when a kernel is compiled."""

from __future__ import annotations

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import Bounds, bounds_of, bounds_of_index
from mlirad.ir.ops import Arith
from mlirad.ir.structured import While, is_for, is_while
from mlirad.ir.walk import block_operations, conjuncts, constant_integer, defining_op

UNKNOWN = 8  # trips that a loop is expected to make where nothing is known


class Span(msgspec.Struct, frozen=True):
    """The values of one index of a loop: from `low` up to `high`, which it does not reach; None
    where not known."""

    low: int | None
    high: int | None
    step: int | None

    @property
    def length(self) -> int | None:
        """The distance between the bounds; 0 where there is no value between them."""
        return None if self.low is None or self.high is None else max(0, self.high - self.low)

    @property
    def trips(self) -> int | None:
        """Return how many values there are."""
        length = self.length
        return None if length is None or self.step is None else -(-length // self.step)

    @property
    def expected_trips(self) -> int:
        """Return how many values there are, or a guess."""
        trips = self.trips
        return UNKNOWN if trips is None else trips

    @property
    def runs(self) -> bool:
        """Return whether there certainly is a value."""
        return bool(self.length)

    @property
    def is_single(self) -> bool:
        """Return whether there certainly is one value, and no other."""
        length = self.length
        return length is not None and 0 < length <= (self.step or 1)


def spans(loop: ir.Operation) -> list[Span]:
    """Return the ranges of the indices of a `for` or a parallel loop, as far as they are known."""
    return [_span(bounds) for bounds in bounds_of(loop)]


def _span(bounds: Bounds) -> Span:
    return Span(*map(constant_integer, bounds))


def span_of(index: ir.Value) -> Span | None:
    """Return the range of an index of a loop, as far as it is known; None for other values."""
    bounds = bounds_of_index(index)
    return None if bounds is None else _span(bounds)


def certainly_runs(op: ir.Operation) -> bool:
    """Return whether an operation is a `for` that is known to run at least once."""
    return is_for(op) and spans(op)[0].runs


def longest_chain(op: ir.Operation) -> int | None:
    """The trips of loops within one another, in an operation, that make most; None where it has one
    of which nothing is known."""
    most = 1
    blocks = [block for region in op.regions for block in region.blocks]
    for inner in (child for block in blocks for child in block_operations(block)):
        chain = longest_chain(inner) if len(inner.regions) else 1
        trips = _trips_at_most(inner) if is_for(inner) else 1
        if chain is None or trips is None or is_while(inner):
            return None
        most = max(most, trips * chain)
    return most


def _trips_at_most(loop: ir.Operation) -> int | None:
    """Return how many trips a `for` makes; it may begin at the index of another loop."""
    span = spans(loop)[0]
    first = span_of(bounds_of(loop)[0].lower) if span.low is None else None
    return span.trips if first is None else Span(first.low, span.high, span.step).trips


def most_trips(loop: ir.Operation) -> int | None:
    """The most iterations that a `while` makes, where it goes on only as long as a number that
    grows by a step is below another; None where that is not known."""
    box = While(loop)
    condition = block_operations(box.before)[-1].operands[0]
    tests = [defining_op(test) for test in conjuncts(condition)]
    trips = [_most_below(box, loop, test) for test in tests if test and test.name == Arith.CMPI]
    return min((most for most in trips if most is not None), default=None)


def _most_below(box: While, loop: ir.Operation, test: ir.Operation) -> int | None:
    number, limit = test.operands[0], constant_integer(test.operands[1])
    if b.predicate_of(test) != b.SLT or limit is None:
        return None
    if not isinstance(number, ir.BlockArgument) or number.owner != box.before:
        return None
    position = number.arg_number
    passed = list(block_operations(box.before)[-1].operands)[1:]
    step = defining_op(block_operations(box.after)[-1].operands[position])
    first = constant_integer(loop.operands[position])
    if step is None or step.name != Arith.ADDI or first is None or number not in passed:
        return None
    grows = constant_integer(step.operands[1])
    if step.operands[0] != box.after.arguments[passed.index(number)] or not grows or grows < 0:
        return None
    return max(0, -(-(limit - first) // grows)) if limit + grows < 1 << 31 else None
