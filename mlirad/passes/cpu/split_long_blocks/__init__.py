"""Cut long blocks into pieces, each a function of its own that LLVM inlines nowhere.

Where a function has thousands of operations, what LLVM does for machine code takes more time than
they are more: it compares all values that are alive with all calls, and looks through all registers
of a block for each. Pieces are cut where few values are alive; what one makes and others use goes
through memory on the stack of the function around, where LLVM would keep it beside so many others.
Behind this pass a function has at most a few times as many operations as a piece.

Assumes structured control flow, whose loops have the vectors that they are to have: a loop that
holds calls gets none from LLVM.
"""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.walk import functions, operations


def split_long_blocks(
    module: ir.Operation, *, length: Annotated[int, Range(8, 1_000_000)] = 1000
) -> None:
    """Split blocks of many more operations than `length` into functions of about this length."""
    for function in functions(module):
        if next(islice(operations(function), length, None), None) is not None:
            from mlirad.passes.cpu.split_long_blocks.long_function import (
                LongFunction,  # few have so many
            )

            LongFunction(function, length).run()
