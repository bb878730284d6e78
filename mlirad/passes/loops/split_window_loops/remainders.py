"""Parallel loops as one loop for each remainder of their index."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm

from mlirad.analysis.bound_ends import SHORT, ends_of, quotient_of
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import fold
from mlirad.ir.marks.axis_choices import choice_of, set_choice
from mlirad.ir.ops import Arith
from mlirad.ir.structured import ANY_ORDER, For, is_for, runs_in_any_order
from mlirad.ir.walk import at_end, before, block_operations, clone, constant_integer, operations

_MOST = 4  # remainders of an index
_OPERATIONS = 1000  # of what a loop becomes


def split_remainders(loop: ir.Operation) -> bool:
    """Split a loop without results by the remainders of its index that quotients in bounds of inner
    loops depend on; whether there are any."""
    divisor = lcm(*_divisors(loop))
    count = len(list(operations(loop)))
    if not 1 < divisor <= _MOST or divisor * count > _OPERATIONS:
        return False
    if not runs_in_any_order(loop) or constant_integer(loop.operands[2]) != 1 or len(loop.results):
        return False
    with before(loop):
        for remainder in range(divisor):
            _of_remainder(loop, divisor, remainder)
    loop.erase()
    return True


def _divisors(loop: ir.Operation) -> Iterator[int]:
    """By what sums are divided that an index is in, and not as a multiple: between two such an
    inner loop goes through a few values."""
    index = For(loop).induction
    for inner in filter(is_for, operations(loop)):
        for low, high in product(*(map(quotient_of, ends) for ends in ends_of(inner))):
            if low is None or high is None or low.divisor != high.divisor:
                continue
            gap = high.sum.plus(low.sum, -1)
            is_short = not gap.terms and gap.constant <= SHORT * low.divisor
            if is_short and low.sum.coefficient(index) % low.divisor:
                yield low.divisor


def _of_remainder(loop: ir.Operation, divisor: int, remainder: int) -> None:
    """Make the loop over the indices of one remainder."""

    def first_behind(end: ir.Value) -> ir.Value:
        distance = fold(Arith.SUBI, end, b.index(remainder))
        return fold(Arith.CEILDIVSI, distance, b.index(divisor))

    low, high = (first_behind(end) for end in list(loop.operands)[:2])
    inner_loop = b.for_loop(low, high, b.index(1))
    inner_loop.op.attributes[ANY_ORDER] = loop.attributes[ANY_ORDER]
    set_choice(inner_loop.op, choice_of(loop))
    with at_end(inner_loop.body, loop.location):
        index = b.add(b.mul(inner_loop.induction, b.index(divisor)), b.index(remainder))
        mapping: dict[ir.Value, ir.Value] = {For(loop).induction: index}
        *ops, _ = block_operations(For(loop).body)
        for op in ops:
            clone(op, mapping)
        b.yield_()
