"""Guards on the index of a loop: comparisons, extremes, quotients and remainders, and the places at
which their results change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec

from mlirad.analysis.linear import CASTS, Linear, extent_of, linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For
from mlirad.ir.walk import before, defining_op, operations

Sum = Linear[ir.Value]
Known = dict[ir.Value, tuple[int, int]]  # the least value of an index, and the greatest

_WORD = (-(1 << 31), (1 << 31) - 1)  # an index of which nothing is known has 32 bits
_SHORTEST = 8  # iterations that are worth a loop of their own
_MULTIPLES = 4  # of a divisor, where quotients change
_USUAL = 16  # at least so many are expected where nothing is known
_DIVISIONS = (Arith.REMSI, Arith.FLOORDIVSI, Arith.DIVSI)
_SUMS = {*(Arith.ADDI, Arith.SUBI, Arith.MULI), *CASTS}
# the differences from which on the answer of a comparison is another
_STEPS = {b.EQ: (0, 1), b.NE: (0, 1), b.SLT: (0,), b.SGE: (0,), b.SLE: (1,), b.SGT: (1,)}
_HOLDS: dict[int, Callable[[int], bool]] = {
    b.EQ: lambda difference: difference == 0,
    b.NE: lambda difference: difference != 0,
    b.SLT: lambda difference: difference < 0,
    b.SGE: lambda difference: difference >= 0,
    b.SLE: lambda difference: difference <= 0,
    b.SGT: lambda difference: difference > 0,
}


class Stretch(msgspec.Struct, frozen=True):
    """The first index and the last; None where the loop itself begins or ends."""

    first: int | None
    last: int | None


class Guard(msgspec.Struct, frozen=True):
    """An op, the sum that decides it, and from which values of it on the answer is another."""

    op: ir.Operation
    decider: Sum
    steps: tuple[int, ...]


class Answer(msgspec.Struct, frozen=True):
    """The result of an op: one of its operands, or a number."""

    operand: int | None
    number: int = 0


def known_within(index: ir.Value, stretch: Stretch, extents: Known) -> tuple[int, int]:
    """The least and the greatest value that an index may have in a stretch of its loop."""
    least, most = extents.get(index, _WORD)
    return (
        least if stretch.first is None else max(least, stretch.first),
        most if stretch.last is None else min(most, stretch.last),
    )


def longest_stretch(loop: ir.Operation, extents: Known) -> Stretch | None:
    """The longest one between changes of answers, if it is not all of the loop and more is decided
    in it than in the loop; where the loop's bounds are not known, by what is usual of them."""
    index, span = For(loop).induction, spans(loop)[0]
    guards = [candidate for candidate in _guards(loop) if candidate.decider.coefficient(index)]
    cuts = {cut for guard in guards for cut in _cuts(guard, index, extents)}
    low = 0 if span.low is None else span.low
    high = max([*cuts, _USUAL]) + 1 if span.high is None else span.high
    ends = [low, *sorted(cut for cut in cuts if low < cut < high), high]
    first, behind = max(pairwise(ends), key=lambda pair: pair[1] - pair[0])
    if behind - first < _SHORTEST:
        return None
    stretch = Stretch(
        first if first in cuts and first != span.low else None,
        behind - 1 if behind in cuts and behind != span.high else None,
    )
    within = {**extents, index: known_within(index, stretch, extents)}
    gained = sum(_answer(candidate, within) is not None for candidate in guards) - sum(
        _answer(candidate, extents) is not None for candidate in guards
    )
    return stretch if gained > 0 else None


def decide(loop: ir.Operation, extents: Known) -> None:
    """Put the answers into a loop that are known there."""
    while answers := [
        (candidate, answer)
        for candidate in _guards(loop)
        if (answer := _answer(candidate, extents))
    ]:
        for guard, answer in answers:
            op, result = guard.op, guard.op.results[0]
            if answer.operand is not None:
                result.replace_all_uses_with(op.operands[answer.operand])
            else:
                with before(op):
                    result.replace_all_uses_with(b.number(answer.number, result.type))
            op.erase()


def _guards(loop: ir.Operation) -> Iterator[Guard]:
    for op in operations(loop):
        guard = _guard_of(op)
        if guard is not None:
            yield guard


def _guard_of(op: ir.Operation) -> Guard | None:
    if op.name not in (Arith.CMPI, Arith.MAXSI, Arith.MINSI, *_DIVISIONS):
        return None
    if not all(map(_is_whole, op.operands)):
        return None
    left, right = map(linear_form, op.operands)
    if op.name in _DIVISIONS:
        return None if right.terms or right.constant <= 0 else Guard(op, left, (0, right.constant))
    difference = left.plus(right, -1)
    if op.name != Arith.CMPI:
        return Guard(op, difference, (0,))
    kind = b.predicate_of(op)
    return Guard(op, difference, _STEPS[kind]) if kind in _STEPS else None


def _is_whole(value: ir.Value, depth: int = 16) -> bool:
    """Return whether a value, and all that its sum is made of, has at least 32 bits."""
    type_ = value.type
    if isinstance(type_, ir.IntegerType):
        if type_.width < 32:
            return False
    elif not isinstance(type_, ir.IndexType):
        return False
    op = defining_op(value)
    if op is None or depth == 0 or op.name not in _SUMS:
        return True
    return all(_is_whole(operand, depth - 1) for operand in op.operands)


def _cuts(guard: Guard, index: ir.Value, extents: Known) -> Iterator[int]:
    """The indices from which on the sum is on one side of a step, or on the other, whatever the
    other indices are."""
    factor = guard.decider.coefficient(index)
    other_terms = extent_of(guard.decider.without(index), extents)
    if other_terms is None:
        return
    least, most = other_terms
    for step in _steps(guard, extents):
        if factor > 0:
            yield -((least - step) // factor)
            yield (step - 1 - most) // factor + 1
        else:
            yield (least - step) // -factor + 1
            yield (most - step) // -factor + 1


def _steps(guard: Guard, extents: Known) -> tuple[int, ...]:
    """Return from which values of its sum on the answer of a guard is another: of a quotient all,
    where it is known that there are few."""
    extent = extent_of(guard.decider, extents) if guard.op.name in _DIVISIONS else None
    if extent is None:
        return guard.steps
    divisor = guard.steps[-1]
    multiples = range(-(-extent[0] // divisor) * divisor, extent[1] + 1, divisor)
    return tuple(multiples) if len(multiples) <= _MULTIPLES else guard.steps


def _answer(guard: Guard, extents: Known) -> Answer | None:
    """Return the result of a guard for all values that indices may have; None if it is not always
    the same."""
    extent = extent_of(guard.decider, extents)
    if extent is None or not all(_fits(value, extents) for value in guard.op.operands):
        return None
    low, high = extent
    name = guard.op.name
    if name == Arith.CMPI:
        holds = _HOLDS[b.predicate_of(guard.op)]
        signs = {holds(x) for x in (low, high, *(x for x in (-1, 0, 1) if low <= x <= high))}
        return Answer(None, -signs.pop()) if len(signs) == 1 else None
    if name in (Arith.MAXSI, Arith.MINSI):
        if low >= 0 or high <= 0:
            return Answer(int((low >= 0) != (name == Arith.MAXSI)))
        return None
    divisor = guard.steps[-1]
    if low // divisor != high // divisor or (low < 0 and name != Arith.FLOORDIVSI):
        return None
    if name == Arith.REMSI:
        return Answer(0) if high < divisor else None
    return Answer(None, low // divisor)


def _fits(value: ir.Value, extents: Known, depth: int = 16) -> bool:
    """Return whether a sum is what it says, and not what is left of it in 32 bits, and so are those
    that it is made of."""
    if isinstance(value.type, ir.IntegerType) and value.type.width <= 32:
        extent = extent_of(linear_form(value), extents)
        return extent is not None and extent[0] >= _WORD[0] and extent[1] <= _WORD[1]
    op = defining_op(value)
    if op is None or depth == 0 or op.name not in _SUMS:
        return True
    return all(_fits(operand, extents, depth - 1) for operand in op.operands)
