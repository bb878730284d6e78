"""Turn loops over the active cells of sparse blocks into loops over lists of them.

A loop over all cells with a test of their activity in front of all that it does becomes one over a
list of the active cells of a block, and over what lies in each. The list is made before the loop,
so that it does not see what the loop activates. A loop over the items of lists ends where they do.
A loop that tests each cell of a small box stays; one that would take hours is refused.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.activity import blocks_by_activity
from mlirad.ir.requirements import KERNELS
from mlirad.ir.walk import functions

REQUIRES = KERNELS


def insert_active_lists(module: ir.Operation, *, every_axis: bool = False) -> None:
    """Replace the test of each cell by loops over lists of active cells. `every-axis`: all
    iterations run in parallel, those within a cell too."""
    blocks = blocks_by_activity(module)
    if blocks:
        from mlirad.passes.loops.insert_active_lists.list_loops import (
            loop_over_lists,  # where there are cells
        )

        for function in functions(module):
            loop_over_lists(module, function, blocks, every_axis=every_axis)
