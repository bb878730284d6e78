"""Short loops in which conditions depend on their index and on that of a loop around them, as the
window of a convolution does: written out, they are bounds of the other index."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For, is_for
from mlirad.ir.unrolling import unroll
from mlirad.ir.walk import before, is_defined_in, operations

_TRIPS, _OPERATIONS = 5, 400  # of a loop that is written out; of what it becomes


def write_out(root: ir.Operation) -> bool:
    """Write out the short loops of a nest that hide bounds; whether there were any."""
    short_loops = list(_hiding(root))
    for loop in short_loops:
        span = spans(loop)[0]
        with before(loop):
            first, step = span.low or 0, span.step or 1
            indices = [b.index(first + trip * step) for trip in range(span.trips or 0)]
        unroll(loop, indices)
    return bool(short_loops)


def _hiding(root: ir.Operation) -> Iterator[ir.Operation]:
    """The loops to be written out, inner ones first."""
    inner = [op for op in operations(root) if is_for(op)]
    tests = [op for op in operations(root) if op.name == Arith.CMPI]
    mixed = {index for test in tests for index in _mixed_indices(test, root)}
    copies = 1
    for loop in reversed(inner):
        span = spans(loop)[0]
        trips = span.trips
        if For(loop).induction not in mixed or trips is None or span.low is None:
            continue
        copies *= trips
        if 0 < trips <= _TRIPS and copies * len(list(operations(loop))) <= _OPERATIONS:
            yield loop


def _mixed_indices(test: ir.Operation, root: ir.Operation) -> list[ir.Value]:
    """The indices of a nest that a comparison names, where it names several and no more."""
    left, right = (linear_form(operand) for operand in test.operands)
    names = list(left.plus(right, -1).names)
    indices = [name for name in names if is_defined_in(name, root)]
    return (
        indices
        if len(indices) > 1 and all(isinstance(x, ir.BlockArgument) for x in indices)
        else []
    )
