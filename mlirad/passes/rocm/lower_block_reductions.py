"""Reductions of whole blocks as shuffles in groups of 32 threads, and one memory of the block for
what the groups have: for waves of 32 threads and of 64.

Assumes outlined kernels whose blocks have a known size. Upstream's lowering takes shuffles of any
width, which its conversion to ROCDL gets wrong where the width is no power of two (96 threads are
three groups), and where it is that of half a wave. Here the width is 32 always, and a thread that
is missing in the last group is left out. The values are added up as on other GPUs: pairs of
neighbors, then pairs of pairs.
"""

from math import prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import (
    WARP,
    barrier,
    combine_in_block,
    known_block_size,
    number_in_block,
    reduction_kind,
    warp_shuffle,
)
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import refuse
from mlirad.ir.signature import function_type
from mlirad.ir.walk import before, entry_of, operations, replace

_COUNT = "workgroup_attributions"  # of a kernel: memories of a block, behind its arguments


def lower_block_reductions(module: ir.Operation) -> None:
    """Lower reductions over blocks of any size to shuffles, shared memory and barriers."""
    for kernel in [op for op in operations(module) if op.name == Gpu.FUNC]:
        for op in [op for op in operations(kernel) if op.name == Gpu.ALL_REDUCE]:
            kind, sizes = reduction_kind(op), known_block_size(kernel)
            if kind is None or sizes is None:
                refuse(op, "a reduction by a region, or of blocks whose size is not known")
            with before(op):
                value = _Reduction(kernel, op, kind, sizes).value()
            replace(op, [value])


class _Reduction:
    """One reduction, made at the insertion point."""

    def __init__(self, kernel: ir.Operation, op: ir.Operation, kind: str, sizes: list[int]) -> None:
        self.kernel, self.op, self.kind = kernel, op, kind
        self.threads = prod(sizes)
        self.groups = -(-self.threads // WARP)
        self.number = b.index_cast(number_in_block(list(map(b.index, sizes))), b.integer_type(32))
        self.lane = b.andi(self.number, b.number(WARP - 1, b.integer_type(32)))

    def value(self) -> ir.Value:
        """The combination of the values of all threads, for each of them."""
        value = self._over_group(self.op.operands[0])
        if self.groups > 1:
            return self._over_groups(value)
        if self.threads == WARP:
            return value
        return warp_shuffle("idx", value, b.number(0, b.integer_type(32)))

    def _over_group(self, value: ir.Value) -> ir.Value:
        """The combination of a group of 32 threads, for its first thread at least."""
        distance, reach = 1, min(WARP, self.threads)
        while distance < reach:
            step = b.number(distance, b.integer_type(32))
            value = self._with_other(value, step)
            distance *= 2
        return value

    def _with_other(self, value: ir.Value, step: ir.Value) -> ir.Value:
        """The combination of a thread's value with that of another one, if there is such a
        thread."""
        if self.threads % WARP == 0:
            return combine_in_block(self.kind, value, warp_shuffle("xor", value, step))
        lane = b.xori(self.lane, step)
        count = b.number(self.threads, b.integer_type(32))
        is_there = b.compare(b.ULT, b.xori(self.number, step), count)
        other = warp_shuffle("idx", value, b.select(is_there, lane, self.lane))
        return b.select(is_there, combine_in_block(self.kind, value, other), value)

    def _over_groups(self, value: ir.Value) -> ir.Value:
        """The combination of what the first threads of the groups have."""
        memory = self._shared_memory(value.type)
        is_first = b.compare(b.EQ, self.lane, b.number(0, b.integer_type(32)))
        group = b.to_index(b.shrui(self.number, b.number(5, b.integer_type(32))))
        branch = b.if_else(is_first, [], with_else=False)
        with ir.InsertionPoint(branch.blocks[0]), self.op.location:
            b.write(value, memory, [group])
            b.yield_()
        barrier()
        values = [b.read(memory, [b.index(k)]) for k in range(self.groups)]
        if self.op.block != entry_of(self.kernel):  # the memory is written to again
            barrier()
        while len(values) > 1:
            pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
            values = [
                combine_in_block(self.kind, *pair) if len(pair) == 2 else pair[0] for pair in pairs
            ]
        return values[0]

    def _shared_memory(self, type_: ir.Type) -> ir.Value:
        space = ir.Attribute.parse("#gpu.address_space<workgroup>")
        memory = ir.MemRefType.get([self.groups], type_, memory_space=space)
        entry = entry_of(self.kernel)
        count = len(entry.arguments) - len(function_type(self.kernel).inputs) + 1
        self.kernel.attributes[_COUNT] = ir.IntegerAttr.get(b.integer_type(64), count)
        return entry.add_argument(memory, self.op.location)
