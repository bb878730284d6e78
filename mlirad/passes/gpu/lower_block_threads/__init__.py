"""Loops over blocks, each of loops over its threads, as loops over threads that fill blocks.

A thread of the machine runs what a thread of a block does in each of the loops over them, and waits
for the others behind it where these may touch the same memory. Code between such loops is run by
all threads alike. What each thread has for itself is in slots, for `mem2reg`; what it has for the
others of its group goes to them by shuffles; other arrays of the block are shared (`field.shared`).

Loops whose arrays have no space in a block's memory, and those of which something else was made,
stay as they are: one thread runs a block.
"""

from mlirad.bindings import ir
from mlirad.ir.gpu.blocks import THREADS, has_threads
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import block_operations, entry_of, functions, operations

REQUIRES = KERNELS


def lower_block_threads(module: ir.Operation) -> None:
    """Run the blocks of marked loops with threads that wait for each other."""
    for function in functions(module):
        tops = [] if is_private(function) else block_operations(entry_of(function))
        for loop in [op for op in tops if is_parallel(op) and has_threads(op)]:
            from mlirad.passes.gpu.lower_block_threads.thread_code import (
                run_by_threads,  # few programs have one
            )
            from mlirad.passes.gpu.lower_block_threads.thread_plan import plan_of

            plan = plan_of(loop)
            if plan is not None:
                run_by_threads(loop, plan)
                continue
            for op in operations(loop):
                if has_threads(op):
                    del op.attributes[THREADS]
            del loop.attributes[THREADS]
