"""Reductions of blocks that are one warp: by shuffles alone, without shared memory or barriers.

Assumes outlined kernels. Reductions of larger blocks are left to upstream's lowering.
"""

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import WARP, reduction_kind
from mlirad.ir.ops import Gpu
from mlirad.ir.walk import before, operations, replace


def lower_warp_reductions(module: ir.Operation) -> None:
    """Lower reductions of blocks of 32 threads to shuffles: five, each with a thread twice as
    far."""
    for function in [op for op in operations(module) if _is_of_warps(op)]:
        for op in list(operations(function)):
            kind = reduction_kind(op)
            if kind is not None:
                with before(op):
                    value = _reduce_over_warp(kind, op.operands[0])
                replace(op, [value])


def _is_of_warps(op: ir.Operation) -> bool:
    if op.name != Gpu.FUNC or "known_block_size" not in op.attributes:
        return False
    return list(ir.DenseI32ArrayAttr(op.attributes["known_block_size"])) == [WARP, 1, 1]


def _reduce_over_warp(kind: str, value: ir.Value) -> ir.Value:
    i32 = b.integer_type(32)
    mode = ir.Attribute.parse("#gpu<shuffle_mode xor>")
    distance = 1
    while distance < WARP:
        operands = [value, b.number(distance, i32), b.number(WARP, i32)]
        types = [value.type, b.integer_type(1)]
        shuffle = ir.Operation.create(Gpu.SHUFFLE, types, operands, {"mode": mode})
        value = _combine(kind, value, shuffle.results[0])
        distance *= 2
    return value


def _combine(kind: str, left: ir.Value, right: ir.Value) -> ir.Value:
    if b.is_float(left.type) and kind in (AtomicKind.MIN, AtomicKind.MAX):
        return b.make(f"arith.{kind}numf", left.type, [left, right])
    return b.combine(kind, left, right)
