"""Reductions of blocks that are one warp: by shuffles alone, without shared memory or barriers.

Assumes outlined kernels. Reductions of larger blocks are left to upstream's lowering.
"""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import (
    WARP,
    combine_in_block,
    known_block_size,
    reduction_kind,
    warp_shuffle,
)
from mlirad.ir.walk import before, operations, replace


def lower_warp_reductions(module: ir.Operation) -> None:
    """Lower reductions over blocks of 32 threads to five shuffles, each over twice the distance of
    the one before."""
    for function in [op for op in operations(module) if known_block_size(op) == [WARP, 1, 1]]:
        for op in list(operations(function)):
            kind = reduction_kind(op)
            if kind is not None:
                with before(op):
                    value = _reduce_over_warp(kind, op.operands[0])
                replace(op, [value])


def _reduce_over_warp(kind: str, value: ir.Value) -> ir.Value:
    distance = 1
    while distance < WARP:
        other = warp_shuffle("xor", value, b.number(distance, b.integer_type(32)))
        value = combine_in_block(kind, value, other)
        distance *= 2
    return value
