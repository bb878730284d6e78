"""Gather what loops over pairs add to their second element: iteration (i, j) adds to `g[i]` what
(j, i) added to `g[j]`.

The reverse of a sum over pairs adds to `g[i]` and to `g[j]`, and all i meet in `g[j]`. Where j has
the bounds of the parallel index i, to exchange them only renames the pairs, and sums may be made in
any order. Then every iteration owns the element that it updates, what it adds is in a register, and
what is the same for both pairs, as the square of a difference, is computed once. This is done where
what has to be computed anew costs less than the updates.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import Parallel, is_for
from mlirad.ir.walk import block_operations, constant_integer, functions, operations

REQUIRES = KERNELS


def gather_pair_updates(module: ir.Operation, *, fast: bool = True) -> None:
    """Let iterations over pairs add to their first element what they would add to the second.

    `fast`: sums and products of derivatives may be taken in another order.
    """
    for function in functions(module):
        for loop in free_loops(operations(function)):
            for inner in [op for op in block_operations(Parallel(loop).body) if is_for(op)]:
                for first in Parallel(loop).indices:
                    if _is_square(loop, inner, first):
                        _gather(loop, inner, first, fast=fast)


def _gather(
    loop: ir.Operation, inner: ir.Operation, first: ir.BlockArgument, *, fast: bool
) -> None:
    from mlirad.passes.loops.gather_pair_updates.exchanged_pair import (
        ExchangedPair,  # both for few programs
    )
    from mlirad.passes.loops.gather_pair_updates.gathered_pair import gather

    gather(ExchangedPair(loop, inner, first, fast=fast))


def _is_square(loop: ir.Operation, inner: ir.Operation, first: ir.BlockArgument) -> bool:
    """Return whether a serial loop has the bounds of a parallel index."""
    box, axis = Parallel(loop), first.arg_number
    bounds = zip((box.lower[axis], box.upper[axis], box.steps[axis]), list(inner.operands)[:3])
    return all(
        bound == other or constant_integer(bound) == constant_integer(other) is not None
        for bound, other in bounds
    )
