"""Let serial loops of GPU code count in 32 bits, where all that they count to is known to fit: a
GPU adds and compares words of 64 bits in two steps.

Before: loops over `index`. After: those over few numbers are loops over `i32`, whose index is
extended where it is used. The numbers of blocks and threads are as large as a launch's are known to
be. A loop of a known number of trips stays as it is where its index is used in 64 bits, as in
addresses: LLVM counts addresses there, and nothing else, and `ptxas` unrolls what is counted so.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul, sub

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.thread_loops import axis_of
from mlirad.ir.ops import Arith, Gpu
from mlirad.ir.requirements import launches_of_outlined_kernels
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    constant_integer,
    defining_op,
    operations,
    replace,
    users_of,
)

REQUIRES = (launches_of_outlined_kernels,)

Range = tuple[int, int]  # the least and the greatest number

_WIDTH = 32
_FITS: Range = (-(1 << (_WIDTH - 1)), (1 << (_WIDTH - 1)) - 1)
_CORNERS: dict[str, Callable[[int, int], int]] = {
    Arith.ADDI: add,
    Arith.SUBI: sub,
    Arith.MULI: mul,
    Arith.MINSI: min,
    Arith.MAXSI: max,
}
_SIZES = {Gpu.THREAD_ID: "known_block_size", Gpu.BLOCK_ID: "known_grid_size"}


def narrow_inductions(module: ir.Operation) -> None:
    """Let serial loops of GPU kernels count in 32 bits, if their bounds are known to fit."""
    for kernel in [op for op in operations(module) if op.name == Gpu.FUNC]:
        ranges = _Ranges(kernel)
        for op in list(operations(kernel)):
            if is_for(op) and _fits(For(op), ranges) and not _counts_addresses(For(op)):
                _narrow(For(op))


def _fits(loop: For, ranges: _Ranges) -> bool:
    """Return whether no number of a loop, nor the one that ends it, is beyond 32 bits."""
    if not isinstance(loop.induction.type, ir.IndexType):
        return False
    first, end, by = map(ranges.range_of, list(loop.op.operands)[:3])
    if first is None or end is None or by is None or by[0] < 1:
        return False
    return _FITS[0] <= min(first[0], end[0]) and max(first[1], end[1] - 1 + by[1]) <= _FITS[1]


def _counts_addresses(loop: For) -> bool:
    """Return whether the trips of a loop are known, and its index is used in 64 bits."""
    is_known = all(constant_integer(value) is not None for value in list(loop.op.operands)[:3])
    users = users_of(loop.induction)
    return is_known and not all(_is_word(op) for op in users)


def _is_word(op: ir.Operation) -> bool:
    return op.name == Arith.INDEX_CAST and ir.IntegerType(op.results[0].type).width <= _WIDTH


def _narrow(loop: For) -> None:
    """Replace a loop by one that counts in 32 bits."""
    op, i32 = loop.op, b.integer_type(_WIDTH)
    lower, upper, step, *initial = op.operands
    with before(op):
        bounds = [_word(value, i32) for value in (lower, upper, step)]
        types = [value.type for value in initial]
        operands, attributes = [*bounds, *initial], attributes_of(op)
        new = For(ir.Operation.create(op.name, types, operands, attributes, regions=1))
        b.block(new.op, 0, [i32, *types])
    with at_end(new.body, op.location):
        number = b.to_index(new.induction)
    loop.induction.replace_all_uses_with(number)
    for carried, value in zip(loop.carried, new.carried):
        carried.replace_all_uses_with(value)
    for inner in block_operations(loop.body):
        new.body.append(inner)
    replace(op, new.results)


def _word(value: ir.Value, type_: ir.Type) -> ir.Value:
    constant, op = constant_integer(value), defining_op(value)
    if constant is not None:
        return b.number(constant, type_)
    if op is not None and op.name == Arith.INDEX_CAST and op.operands[0].type == type_:
        return op.operands[0]
    return b.index_cast(value, type_)


class _Ranges:
    """Between which numbers the indices of a kernel lie."""

    def __init__(self, kernel: ir.Operation) -> None:
        self._kernel = kernel
        self._ranges: dict[ir.Value, Range | None] = {}

    def range_of(self, value: ir.Value) -> Range | None:
        """The least number and the greatest; None if nothing is known."""
        if value not in self._ranges:
            constant = constant_integer(value)
            self._ranges[value] = self._look_at(value) if constant is None else (constant, constant)
        return self._ranges[value]

    def _look_at(self, value: ir.Value) -> Range | None:
        op = defining_op(value)
        if op is None:
            return None
        if op.name in _SIZES:
            return self._place(op)
        if op.name == Arith.INDEX_CAST and isinstance(op.operands[0].type, ir.IntegerType):
            width = ir.IntegerType(op.operands[0].type).width
            return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if width <= _WIDTH else None
        if op.name not in _CORNERS:
            return None
        left_range, right_range = map(self.range_of, op.operands)
        if left_range is None or right_range is None:
            return None
        corners = [_CORNERS[op.name](left, right) for left in left_range for right in right_range]
        return min(corners), max(corners)

    def _place(self, op: ir.Operation) -> Range | None:
        """Return which numbers blocks have, or threads in a block, along an axis."""
        if _SIZES[op.name] not in self._kernel.attributes:
            return None
        sizes = list(ir.DenseI32ArrayAttr(self._kernel.attributes[_SIZES[op.name]]))
        return 0, sizes[axis_of(op)] - 1
