"""Split sums of products out of nests of loops, so that each is a nest of its own.

Assumes fields as memrefs. The body of a kernel, and still more of a gradient, adds up several
things at once: each wants another order of loops and other lanes. Here sums that loops carry are
made first, for a block of the outermost loop's iterations, into a buffer; updates of memory that
the nest only adds to are made behind it, of what the nest has left in buffers or of memory that it
does not change. In between the nest does what is left. Conditions that are bounds of indices
become bounds of loops. The order of additions changes, so a pipeline without `fast_math` leaves
this out, and what decisions are made of stays where it is.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import block_operations, constant_integer, functions, operations

REQUIRES = KERNELS

Least = Annotated[int, Range(0, 10**9)]


def split_contractions(module: ir.Operation, *, least: Least = 4096) -> None:
    """Give sums of products of at least `least` multiplications their own nests of loops."""
    for function in functions(module):
        pending = [op for op in block_operations(function.regions[0].blocks[0]) if is_for(op)]
        while pending:
            loop = pending.pop()
            if not _split(loop, least):
                pending += [op for op in block_operations(For(loop).body) if is_for(op)]


def _split(loop: ir.Operation, least: int) -> bool:
    """Split a nest; False where there is nothing to split, or that does not pay."""
    if constant_integer(loop.operands[2]) != 1 or not any(map(is_for, operations(loop))):
        return False
    from mlirad.passes.loops.split_contractions.splitting import (
        Splitting,  # for loops in loops alone
    )

    return Splitting(loop, least).run()
