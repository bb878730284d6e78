"""Loops whose lanes wait: two vectors of iterations at once fill the time.

In a loop that carries numbers from trip to trip, an operation often waits for the last one, and the
processor finds others only as far ahead as it looks. Those of a second vector of iterations stand
beside them; that pays as long as registers hold the numbers of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from mlirad.analysis.lanes.cost import is_far
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.ops import Memref
from mlirad.ir.structured import StructuredOp, is_branch, is_for, is_serial_loop
from mlirad.ir.walk import block_operations, operations

_LONGEST = 100  # ops in a loop: in more of them, the processor finds some that do not wait
_ALIVE, _MASKED = 15, 8  # numbers of each iteration at once; where lanes go different ways


def is_worth_two(loop: ir.Operation, strides: Strides, width: int) -> bool:
    """Return whether a loop that may run in so many lanes is faster in twice as many."""
    if not _fills(loop, 2 * width):
        return False
    if next(islice(operations(loop), _LONGEST, None), None) is not None:
        return False
    ops = list(operations(loop))
    inner = [op for op in ops if is_serial_loop(op)]
    if any(op.name in (Memref.ALLOC, Memref.ALLOCA) or is_far(op, strides) for op in ops):
        return False
    if not any(strides.stride_of(value) is None for op in inner for value in _arguments(op)):
        return False
    asked = [op for op in ops if is_branch(op) or op in inner]
    limit = _MASKED if any(map(strides.is_divergent, asked)) else _ALIVE
    return all(_alive(block, strides) <= limit for op in inner for block in StructuredOp(op).blocks)


def _fills(loop: ir.Operation, width: int) -> bool:
    """Return whether a loop's iterations fill so many lanes about as well as half of them."""
    trips = spans(loop)[0].trips
    return trips is None or 10 * -(-trips // width) * width <= 11 * trips


def _arguments(op: ir.Operation) -> Iterator[ir.Value]:
    """Yield what a loop carries."""
    for block in StructuredOp(op).blocks:
        yield from list(block.arguments)[is_for(op) :]


def _alive(block: ir.Block, strides: Strides) -> int:
    """Return how many numbers that differ between lanes are alive at once in the body of a loop:
    what is made around it is all the time."""
    ops = block_operations(block)
    position_of: dict[ir.Value, int] = dict.fromkeys(block.arguments, -1)
    position_of.update((result, at) for at, op in enumerate(ops) for result in op.results)
    last: dict[ir.Value, int] = {}
    inside = set[ir.Value]()
    for at, op in enumerate(ops):
        for inner in operations(op):
            inside.update(inner.results)
        for user in (op, *operations(op)):
            last.update((v, at) for v in user.operands if strides.stride_of(v) is None)
    changes = [0] * (len(ops) + 1)
    for value, until in last.items():
        if value in position_of:
            changes[position_of[value] + 1] += 1
            changes[until + 1] -= until + 1 < len(changes)
        elif value not in inside:
            changes[0] += 1
    most = alive = 0
    for change in changes:
        alive += change
        most = max(most, alive)
    return most
