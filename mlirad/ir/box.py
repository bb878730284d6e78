"""A parallel loop over a box, counted through in row-major order."""

from collections.abc import Callable

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.walk import constant_integer


def box_size(loop: ir.Operation) -> tuple[list[ir.Value], ir.Value]:
    """Iterations along each axis of an `scf.parallel`, and of all of it, made at the insertion
    point."""
    rank = len(loop.regions[0].blocks[0].arguments)
    operands = list(loop.operands)
    extents = [_extent(*operands[axis : 3 * rank : rank]) for axis in range(rank)]
    total = extents[0]
    for extent in extents[1:]:
        total = _folded("arith.muli", total, extent, lambda x, y: x * y)
    return extents, total


def _extent(lower: ir.Value, upper: ir.Value, step: ir.Value) -> ir.Value:
    width = _folded("arith.subi", upper, lower, lambda x, y: x - y)
    if constant_integer(step) != 1:
        width = _folded("arith.ceildivsi", width, step, lambda x, y: -(-x // y))
    return _folded("arith.maxsi", width, b.index(0), max)


def _folded(name: str, x: ir.Value, y: ir.Value, known: Callable[[int, int], int]) -> ir.Value:
    """An operation on index values, done now where both are known."""
    left, right = constant_integer(x), constant_integer(y)
    if left is not None and right is not None:
        return b.index(known(left, right))
    return b.make(name, x.type, [x, y])


def box_indices(loop: ir.Operation, extents: list[ir.Value], number: ir.Value) -> list[ir.Value]:
    """The loop's indices in the iteration of a number, made at the insertion point."""
    rank = len(extents)
    lower, steps = list(loop.operands)[:rank], list(loop.operands)[2 * rank : 3 * rank]
    digits = []
    for extent in reversed(extents[1:]):
        digits.append(b.make("arith.remui", b.index_type(), [number, extent]))
        number = b.div(number, extent)
    digits.append(number)
    return [
        b.add(low, b.mul(digit, step)) for low, digit, step in zip(lower, reversed(digits), steps)
    ]
