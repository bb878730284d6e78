"""Split loops so that sums of products over windows have bounds that do not depend on where one is.

The gradient of a convolution, at an element, adds up the windows that reach it: which they are
depends on the remainder of an index by the stride, and on how near a border is. Here a parallel
loop over such an index becomes one loop for each remainder, in which quotients are sums. Short
loops between sums that move along with an index are written out, with conditions where other bounds
cut them short. Loops by whose index others are bounded go around those of their nest that bound
none. What is left are loops over boxes, of which `split-contractions` makes nests of their own.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_for, runs_in_any_order
from mlirad.ir.walk import ancestors, block_operations, defining_op, entry_of, functions, operations

REQUIRES = KERNELS


def split_window_loops(module: ir.Operation) -> None:
    """Split loops around sums of products by the remainder of an index, and unroll loops over
    windows."""
    for function in functions(module):
        if any(
            _adds_products(op) and any(map(is_for, ancestors(op))) for op in operations(function)
        ):
            _split(function)


def _split(function: ir.Operation) -> None:
    from mlirad.passes.loops.split_window_loops.windows import (
        write_out_windows,  # all three for few programs
    )

    for loop in reversed([op for op in operations(function) if is_for(op)]):
        if not len(loop.results) and any(map(_adds_products, operations(loop))):
            from mlirad.passes.loops.split_window_loops.remainders import split_remainders

            split_remainders(loop)
    write_out_windows(function)
    for op in block_operations(entry_of(function)):
        if is_for(op) and not len(op.results):
            from mlirad.passes.loops.split_window_loops.bounding_loops import move_bounding_out

            move_bounding_out(op)


def _adds_products(op: ir.Operation) -> bool:
    """Return whether an op is a serial loop of the program that adds products to what it
    carries."""
    if not is_for(op) or not len(op.results) or runs_in_any_order(op):
        return False
    yielded = block_operations(op.regions[0].blocks[0])[-1].operands
    return any(_is_product_added(value) for value in yielded)


def _is_product_added(value: ir.Value) -> bool:
    step = defining_op(value)
    if step is None or step.name not in (Arith.ADDF, Arith.SUBF):
        return False
    factors = (defining_op(operand) for operand in step.operands)
    return any(factor is not None and factor.name == Arith.MULF for factor in factors)
