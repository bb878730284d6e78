"""Parallel loops whose iterations work together in blocks, as parallel loops over the blocks.

The code of a block is cut where its threads wait for one another (`field.sync`), or see each
other's values (`field.shuffle`, `field.ballot`); between two such points the threads run one after
another, in a serial loop. What a thread has at such a point lies in an array of the block, and so
does what its threads share. Behind this pass, no machine and no derivative knows of threads.

With `threads`, the loops over blocks and those over their threads are marked, for machines that
have such threads (`lower-block-threads`); a loop of one block stays a loop.

These arrays are made in each block or, `of-launch`, in front of the loop, with an axis for the
blocks: so a reverse, which knows the memory of a launch, gives them adjoints.

A loop or branch that holds such a point runs once for the block, with the threads for which it
runs. (Stratton, Stone, Hwu: MCUDA, LCPC 2008.)
"""

from mlirad.bindings import ir
from mlirad.dialect.field import needs_block
from mlirad.ir.requirements import KERNELS, refuse
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import functions, operations

REQUIRES = KERNELS


def lower_block_loops(
    module: ir.Operation, *, of_launch: bool = False, threads: bool = False
) -> None:
    """Replace parallel loops whose iterations wait for each other by loops over their blocks."""
    for function in functions(module):
        loops = [op for op in operations(function) if is_parallel(op)]
        for loop in [loop for loop in loops if _works_in_blocks(loop)]:
            from mlirad.passes.loops.lower_block_loops.block_loop import (
                run_in_blocks,  # few programs have one
            )

            run_in_blocks(loop, of_launch, threads)
        for op in operations(function):
            if needs_block(op):
                refuse(op, f"'{op.name}' outside of a parallel loop")


def _works_in_blocks(loop: ir.Operation) -> bool:
    return any(needs_block(op) for op in operations(loop))
