"""Add up the sums over loops that decisions are made of in lanes, by an order that depends on
nothing but the trips.

Assumes fields as memrefs, and sums marked `field.lanes`: what a loop carries and yields with
something added. Term k of such a sum goes to lane k mod 16, and the lanes are added in halves at
the end, so that the sum is the same to the bit in every mode of a kernel, whatever else its loops
hold there. Where all of a loop is sums of neighboring elements, or of functions of
these, 16 terms are a vector.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.marks.rounding import LANES
from mlirad.ir.requirements import KERNELS, refuse
from mlirad.ir.structured import is_for
from mlirad.ir.walk import block_operations, functions, operations

REQUIRES = KERNELS


def split_sums(module: ir.Operation) -> None:
    """Compute each marked sum in 16 lanes."""
    for function in functions(module):
        for loop in [op for op in operations(function) if is_for(op)]:
            candidates = {position: _step(loop, position) for position in range(len(loop.results))}
            steps = {position: step for position, step in candidates.items() if step is not None}
            if steps:
                from mlirad.passes.rounding.split_sums.sums_in_lanes import (
                    split,  # where there are some
                )

                split(function, loop, steps)


def _step(loop: ir.Operation, position: int) -> ir.Operation | None:
    """The marked op that adds to what a loop carries at a position, and that it yields."""
    body = loop.regions[0].blocks[0]
    yielded = block_operations(body)[-1].operands[position]
    if isinstance(yielded, ir.BlockArgument):
        return None
    step, carried = yielded.owner.operation, body.arguments[1 + position]
    if LANES not in step.attributes or carried not in list(step.operands):
        return None
    if len(list(carried.uses)) > 1 or len(list(yielded.uses)) > 1:
        refuse(step, "a sum in lanes that is also used in another way")
    return step
