"""Contractions by blocks of threads: of parallel loops in which an iteration adds up products of
elements that others read too, as of a matrix product, a convolution and their gradients.

A block makes a tile of the sums. Its threads bring a panel of each factor to the block's memory, a
few trips of the sum at a time, while they multiply and add those that came before; each has some
rows and some columns in registers. An index of each sum goes up, so that it comes out the same in
every run; of few sums of many products, blocks make parts, which are added up in order. What the
loop does with a sum is left as it is: a thread does it for each of its own, or, where that is long
or a sum itself, a launch behind. Ends are guarded. Extents that are known only at the launch are as
good, but for what takes memory.

A factor counts as 0 where the loop multiplies nothing. Where the other one is infinite there, a
thread makes its sums as the loop does.

Assumes that nothing a decision is made of is marked as rounded in any way, so a pipeline without
`fast_math` leaves this out. Loops that ask for blocks of a size are left alone.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect.field import LoadOp
from mlirad.ir.gpu.blocks import BLOCK_DIM, free_loops
from mlirad.ir.limits import Range
from mlirad.ir.ops import Arith, Scf
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import block_operations, entry_of, functions, operations

REQUIRES = KERNELS


def tile_block_contractions(
    module: ir.Operation, *, least: Annotated[int, Range(0, 1 << 30)] = 1 << 18
) -> None:
    """Let blocks of threads compute tiles of sums of products, for at least `least`
    multiplications."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in free_loops(block_operations(entry_of(function))):
            if BLOCK_DIM not in loop.attributes and _may_be_one(loop):
                from mlirad.passes.gpu.tile_block_contractions.block_tiles import (
                    make_tiles,  # for few programs
                )

                make_tiles(module, loop, least)


def _may_be_one(loop: ir.Operation) -> bool:
    """Return whether an iteration multiplies elements, and sums or adds in a loop."""
    names = [op.name for op in operations(loop)]
    has_product = Arith.MULF in names and names.count(LoadOp.OPERATION_NAME) > 1
    return has_product and (Scf.FOR in names or Parallel(loop).rank > _ELEMENT)


_ELEMENT = 2  # axes that name an element
