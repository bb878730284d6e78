"""Lower what kernels do to the activity of sparse blocks to accesses of the fields of activity.

A byte is 1 if its cell is active, 2 where a cell of a bitmasked block, which keeps what it holds,
was active before, else 0. Activating is a test and a store of 1, which iterations may do at once.
What lies outside of a block is an error of the launch, and nothing is changed.

Derivatives of what is deactivated are the affair of those who compute them: a sweep makes them 0.
Where none does, in a launch that nothing records, `derivatives` has them cleared with the fields.
"""

from mlirad.bindings import ir
from mlirad.dialect.activity import is_on_activity
from mlirad.ir.requirements import KERNELS
from mlirad.ir.walk import functions, operations

REQUIRES = KERNELS


def lower_activity(module: ir.Operation, *, derivatives: bool = False) -> None:
    """Lower activations, queries and lists to accesses of the fields of activity. With
    `derivatives`, deactivated cells lose their derivatives too."""
    for function in functions(module):
        ops = [op for op in operations(function) if is_on_activity(op)]
        if ops:
            from mlirad.passes.memory.lower_activity.activity_ops import (
                lower,  # for sparse blocks alone
            )

            lower(module, function, ops, derivatives=derivatives)
