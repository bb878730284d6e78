"""Make tiles of registers of contractions: nests of loops that add products of two elements to a
third one, as of a matrix product, a convolution and their gradients.

Assumes fields as memrefs. The order of additions to an element changes, so a pipeline without
`fast_math` leaves this out, and what decisions are made of is left alone. Which tile is decided in
`tile_plan.py`, and said in a remark. Any number of trips is right: ends are masked.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.analysis.zero_guards import guarded_product, guarded_sum
from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.marks.rare import RARE
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_for
from mlirad.ir.walk import defining_op, functions, is_inside, operations

REQUIRES = KERNELS


def tile_contractions(
    module: ir.Operation,
    *,
    width: Annotated[int, Range(4, 64)] = 64,
    fused: bool = True,
    least: Annotated[int, Range(0, 10**9)] = 4096,
) -> None:
    """Compute sums of at least `least` products in tiles of registers of `width` bytes. `fused`:
    the target has fused multiply-adds."""
    for function in [op for op in functions(module) if RARE not in op.attributes]:
        done: list[ir.Operation] = []
        for loop in [op for op in operations(function) if is_for(op)]:
            if any(is_inside(loop, other) for other in done) or not _may_be_one(loop):
                continue
            from mlirad.passes.loops.tile_contractions.tiles import make_tiles  # for few programs

            if make_tiles(loop, width, least, fused=fused):
                done.append(loop)
        for loop in done:
            loop.erase()


def _may_be_one(loop: ir.Operation) -> bool:
    """Return whether a loop has no results, and adds a product of elements to an element."""
    return not len(loop.results) and any(map(_adds_product, operations(loop)))


def _adds_product(op: ir.Operation) -> bool:
    step = defining_op(op.operands[0]) if op.name == Memref.STORE else None
    if step is None or step.name not in (Arith.ADDF, Arith.SUBF):
        return False
    terms = [defining_op(operand) for operand in step.operands]
    return any(term is not None and _is_product(term) for term in terms)


def _is_product(op: ir.Operation) -> bool:
    guarded = guarded_sum(op)
    inner = op if guarded is None else defining_op(guarded.value)
    product, _ = (inner and guarded_product(inner)) or (inner, None)
    return (
        product is not None and product.name == Arith.MULF and all(map(_is_read, product.operands))
    )


def _is_read(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name == Memref.LOAD
