"""Split updates of shifted elements out of parallel loops, so that every iteration owns the row
that it updates.

The reverse of a stencil adds to `g[i - 1, j]`, `g[i + 1, j]`, `g[i, j - 1]` ... from iteration (i,
j): neighboring iterations meet, so the updates would have to be atomic and no loop over them
becomes lanes. All of them are sums, so they may be done in any order: here, for every row p of the
target, one inner loop for each update, run for the iteration `i = p - offset` that reaches row p.
Guards that are bounds of a loop variable become bounds of its loop.
"""

from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import functions, operations

REQUIRES = KERNELS


def split_scatter_loops(module: ir.Operation) -> None:
    """Give each shifted update its own loop over the rows that it writes."""
    for function in functions(module):
        for loop in [op for op in operations(function) if is_parallel(op)]:
            if sum(map(is_atomic, operations(loop))) > 1:  # of one alone, each row is its own
                from mlirad.passes.loops.split_scatter_loops.rows import (
                    gather_rows,  # for few programs
                )

                gather_rows(loop)
