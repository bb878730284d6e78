"""Sums over pairs of what an iteration has and what all iterations read, as of forces between
bodies, by threads of several iterations each, which read together.

A serial loop in a parallel one reads elements that its own index names alone. In a loop as it is
written every thread reads each of them, and all wait for the same memory at once. Here a block
brings as many elements as it has threads to its memory, while those before are used, and a thread
makes the terms of several iterations of each. Where that leaves few threads, they make parts of
the sums. A launch behind, the loop without its serial loop, adds up parts, always in the same
order, and does what it does with the sums.

Assumes that nothing a decision is made of is marked as rounded in any way, so a pipeline without
`fast_math` leaves this out. Loops that ask for blocks of a size are left alone.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect.field import is_load
from mlirad.ir.gpu.blocks import BLOCK_DIM, free_loops
from mlirad.ir.limits import Range
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel, is_for
from mlirad.ir.walk import block_operations, entry_of, functions, operations

REQUIRES = KERNELS


def split_pair_sums(
    module: ir.Operation, *, least: Annotated[int, Range(0, 1 << 30)] = 1 << 22
) -> None:
    """Let each thread compute the sums of several iterations over elements that all of them read,
    for at least `least` terms."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in free_loops(block_operations(entry_of(function))):
            if BLOCK_DIM not in loop.attributes and _may_be_one(loop):
                from mlirad.passes.gpu.split_pair_sums.pair_sum import (
                    split_sums,  # for few programs
                )

                split_sums(module, loop, least)


def _may_be_one(loop: ir.Operation) -> bool:
    """Return whether an iteration has one serial loop, which sums, and reads."""
    nests = [op for op in block_operations(Parallel(loop).body) if is_for(op)]
    return len(nests) == 1 and len(nests[0].results) > 0 and any(map(is_load, operations(nests[0])))
