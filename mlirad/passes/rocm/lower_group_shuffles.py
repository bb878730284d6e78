"""Shuffles in groups of 32 threads as AMD's instructions, for waves of 32 threads and of 64.

Upstream's conversion takes the number of a thread for that in its wave: where a wave has 64, its
second half, a group of its own, would read the first. And it says of a count of lanes that is 32
there that it is less. `ds_swizzle` exchanges in groups of 32 by itself, with a distance that is a
constant; `ds_bpermute` reads any thread of the wave.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import WARP, shuffle_mode
from mlirad.ir.ops import Arith, Gpu
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import before, constant_integer, operations, replace

_WORD = 32  # bits
_EVERY_LANE = 0x1F  # of a swizzle: and-mask 31, or-mask 0, behind them the distance


def lower_group_shuffles(module: ir.Operation) -> None:
    """Lower shuffles by index or by distance, in groups of 32 threads, for AMD GPUs."""
    for op in [op for op in operations(module) if op.name == Gpu.SHUFFLE]:
        mode = shuffle_mode(op)
        if constant_integer(op.operands[2]) != WARP or mode not in ("idx", "xor"):
            refuse(op, "a shuffle up, down, or not in groups of 32 threads, for an AMD GPU")
        with before(op):
            exchange = _Exchange(op.operands[1], is_distance=mode == "xor")
            value = _by_words(op.operands[0], exchange)
            replace(op, [value, b.number(1, b.integer_type(1))])


class _Exchange:
    """The number of the thread of its group that a thread reads, at the insertion point."""

    def __init__(self, number: ir.Value, *, is_distance: bool) -> None:
        self.i32 = b.integer_type(_WORD)
        distance = constant_integer(number) if is_distance else None
        self.pattern = None
        if distance is not None and 0 <= distance < WARP:
            self.pattern = b.llvm_constant(distance << 10 | _EVERY_LANE, self.i32)
            return
        lane = self._lane()
        lane_of_other = b.xori(lane, number) if is_distance else number
        in_group = b.andi(lane_of_other, b.number(WARP - 1, self.i32))
        in_wave = b.ori(b.andi(lane, b.number(-WARP, self.i32)), in_group)
        self.address = b.shli(in_wave, b.number(2, self.i32))

    def _lane(self) -> ir.Value:
        """The number of the thread in its wave: how many lanes there are below it."""
        every, count = b.number(-1, self.i32), b.number(0, self.i32)
        for half in ("lo", "hi"):
            count = b.call_intrinsic(f"amdgcn.mbcnt.{half}", [every, count], self.i32)
        return count

    def read(self, word: ir.Value) -> ir.Value:
        """The word that the other thread has."""
        if self.pattern is not None:
            return b.call_intrinsic("amdgcn.ds.swizzle", [word, self.pattern], self.i32)
        return b.call_intrinsic("amdgcn.ds.bpermute", [self.address, word], self.i32)


def _by_words(value: ir.Value, exchange: _Exchange) -> ir.Value:
    """The value of another thread, exchanged in words of 32 bits."""
    width, word = _width(value.type), b.integer_type(_WORD)
    bits = b.bitcast(value, b.integer_type(width)) if b.is_float(value.type) else value
    if width <= _WORD:
        bits = _resize(exchange.read(_resize(bits, word)), b.integer_type(width))
    else:
        long = b.integer_type(2 * _WORD)
        shift = b.number(_WORD, long)
        low, high = b.trunci(bits, word), b.trunci(b.shrui(bits, shift), word)
        low, high = (b.extui(exchange.read(half), long) for half in (low, high))
        bits = b.ori(low, b.shli(high, shift))
    return b.bitcast(bits, value.type) if b.is_float(value.type) else bits


def _resize(value: ir.Value, type_: ir.Type) -> ir.Value:
    if value.type == type_:
        return value
    return b.make(
        Arith.EXTUI if _width(value.type) < _width(type_) else Arith.TRUNCI, type_, [value]
    )


def _width(type_: ir.Type) -> int:
    return int((ir.FloatType if b.is_float(type_) else ir.IntegerType)(type_).width)
