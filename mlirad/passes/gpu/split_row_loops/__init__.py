"""Rows: parallel loops whose iterations run through the elements of a row, as a softmax does, with
a block of threads for each iteration.

One thread that runs through a row reads memory that its neighbors do not read, and few rows leave
most of a GPU idle. Here the threads of a block share the trips of each serial loop of an iteration,
and combine the sums, minima, and maxima that it carries. All threads compute what is between these
loops; the first one makes updates of memory there. If the trips are known at the launch only, the
loop stays beside the blocks, for rows that are short.

Assumes that nothing a decision is made of is marked as rounded in any way, so a pipeline without
`fast_math` leaves this out. Loops that ask for blocks of a size are left alone.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.gpu.blocks import BLOCK_DIM, free_loops
from mlirad.ir.limits import Range
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel, is_for
from mlirad.ir.walk import block_operations, entry_of, functions

REQUIRES = KERNELS


def split_row_loops(module: ir.Operation, *, least: Annotated[int, Range(2, 1 << 30)] = 64) -> None:
    """Run iterations with serial loops of at least `least` trips by blocks of threads."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in free_loops(block_operations(entry_of(function))):
            if BLOCK_DIM not in loop.attributes and _may_be_one(loop, least):
                from mlirad.passes.gpu.split_row_loops.row_code import (
                    split_rows,  # for few programs
                )

                split_rows(module, loop, least)


def _may_be_one(loop: ir.Operation, least: int) -> bool:
    """Return whether an iteration has a serial loop that may be long enough."""
    nests = [op for op in block_operations(Parallel(loop).body) if is_for(op)]
    return any((spans(nest)[0].trips or least) >= least for nest in nests)
