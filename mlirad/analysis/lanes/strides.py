"""Differences of values between iterations of a loop that run together as lanes.

Lane k of a value with a stride is its value in the first lane and k strides more; a stride of 0
means that all lanes have one value. Values without one are different in each lane.
"""

from __future__ import annotations

from collections.abc import Callable

from mlirad.analysis.index_ranges import index_range
from mlirad.analysis.lanes.updates import left_behind
from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Memref, Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import DISTINCT, For, If, While, is_for, is_while
from mlirad.ir.walk import (
    block_operations,
    constant_integer,
    defining_op,
    enclosing,
    is_inside,
    operations,
)

_KEEPING_APART = (Arith.ADDI, Arith.SUBI, Arith.MULI, Arith.INDEX_CAST)
_LONGEST = 4096  # with longer strides, indices of 32 bits could wrap between lanes that are active


class Strides:
    """The strides of all values in a loop, along its index; `non_arithmetic` are its ops of other
    dialects than `arith` and `math`."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self.non_arithmetic = [op for op in operations(loop) if not is_arithmetic(op)]
        self.known: dict[ir.Value, int | None] = {}
        self._distinct: set[ir.Value] = set()
        box = For(loop)
        self.private, self._left_behind = (
            _private_buffers(loop, self.non_arithmetic),
            left_behind(self.non_arithmetic),
        )
        self.known[box.induction] = constant_integer(loop.operands[2])
        self.known.update((carried, None) for carried in box.carried)
        self._block(box.body)

    def stride_of(self, value: ir.Value) -> int | None:
        """The stride of a value; 0 for what is computed before the loop."""
        return self.known.get(value, 0)

    def is_uniform(self, value: ir.Value) -> bool:
        """Return whether all lanes have one value."""
        return self.stride_of(value) == 0

    def is_distinct(self, value: ir.Value) -> bool:
        """Return whether each lane is known to have another value."""
        return bool(self.stride_of(value)) or value in self._distinct

    def is_counted_alike(self, op: ir.Operation) -> bool:
        """Return whether all lanes run a `for` equally often."""
        low, high, step = map(self.stride_of, list(op.operands)[:3])
        return low is not None and low == high and step == 0

    def is_divergent(self, op: ir.Operation) -> bool:
        """Return whether lanes may go different ways at a structured op."""
        if is_for(op):
            return not self.is_counted_alike(op)
        if is_while(op):
            return not self.is_uniform(block_operations(While(op).before)[-1].operands[0])
        return not self.is_uniform(op.operands[0])

    def _block(self, block: ir.Block) -> None:
        for op in block_operations(block):
            visit = _VISITORS.get(op.name)
            if visit is not None:
                visit(self, op)
                continue
            stride = self._op(op)
            for result in op.results:
                self.known[result] = stride

    def _op(self, op: ir.Operation) -> int | None:
        find = self.known.get
        strides = [find(operand, 0) for operand in op.operands]
        if op.name == Memref.LOAD:
            differs = any(s != 0 for s in strides) or op in self._left_behind
            return None if differs or self._is_private(op) else 0
        if op.regions or op.name == Memref.ATOMIC_RMW:
            return None
        if self._keeps_apart(op):
            self._distinct.update(op.results)
        if not any(s != 0 for s in strides):
            return 0
        stride = _linear(op, strides)
        return stride if stride is not None and abs(stride) <= _LONGEST else None

    def _keeps_apart(self, op: ir.Operation) -> bool:
        """Return whether lanes have different results as they have different operands."""
        if DISTINCT in op.attributes:
            return enclosing(op) == self.loop
        if (dividend := _dividend_of_range(op)) is not None:
            return self.is_distinct(dividend)
        if op.name not in _KEEPING_APART:
            return False
        distinct = [value in self._distinct for value in op.operands]
        if op.name in (Arith.ADDI, Arith.SUBI):
            return any(distinct) and any(map(self.is_uniform, op.operands))
        if op.name == Arith.MULI:
            return any(distinct) and any(map(constant_integer, op.operands))
        return distinct[0]

    def _is_private(self, op: ir.Operation) -> bool:
        return op.operands[0] in self.private

    def _join(self, targets: list[ir.Value], *sources: list[ir.Value]) -> None:
        for target, *values in zip(targets, *sources):
            strides = {self.stride_of(value) for value in values}
            self.known[target] = strides.pop() if len(strides) == 1 else None

    def _for(self, op: ir.Operation) -> None:
        box, initial = For(op), list(op.operands)[3:]
        low, _, step = map(self.stride_of, list(op.operands)[:3])
        self.known[box.induction] = low if step == 0 else None
        arguments: list[ir.Value] = list(box.carried)
        alike = self.is_counted_alike(op)
        self._join(arguments, initial)
        if not alike:
            self.known.update((argument, None) for argument in arguments)
        terminator = block_operations(box.body)[-1]
        while True:
            before = [self.stride_of(argument) for argument in arguments]
            self._block(box.body)
            if alike:
                self._join(arguments, list(arguments), list(terminator.operands))
            if before == [self.stride_of(argument) for argument in arguments]:
                break
        self.known.update((r, self.stride_of(a)) for r, a in zip(op.results, arguments))

    def _while(self, op: ir.Operation) -> None:
        box = While(op)
        first, last = block_operations(box.before)[-1], block_operations(box.after)[-1]
        arguments: list[ir.Value] = list(box.before.arguments)
        self._join(arguments, list(op.operands))
        while True:
            before = [self.stride_of(argument) for argument in arguments]
            self._block(box.before)
            passed = list(first.operands)[1:]
            self._join(list(box.after.arguments), passed)
            self._block(box.after)
            self._join(arguments, list(arguments), list(last.operands))
            if before == [self.stride_of(argument) for argument in arguments]:
                break
        alike = not self.is_divergent(op)
        self.known.update(
            (r, self.stride_of(v) if alike else None) for r, v in zip(op.results, passed)
        )

    def _if(self, op: ir.Operation) -> None:
        box = If(op)
        for block in box.blocks:
            self._block(block)
        if not op.results:
            return
        ends = [list(block_operations(block)[-1].operands) for block in box.blocks]
        self._join(list(op.results), *ends)
        if self.is_divergent(op):
            self.known.update((result, None) for result in op.results)


def _dividend_of_range(op: ir.Operation) -> ir.Value | None:
    """The dividend, if an op computes its remainder by a constant, and all numbers that the
    dividend may be have different ones."""
    division = _remainder(op)
    if division is None:
        return None
    dividend, divisor = division
    count, interval = constant_integer(divisor), index_range(dividend)
    if count is None or interval is None or interval[1] - interval[0] > count:
        return None
    return dividend if interval[0] >= 0 or op.name == Arith.SUBI else None


def _remainder(op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """The dividend and the divisor, if an op computes a remainder; as code for `%`, which takes a
    multiple of the divisor away."""
    if op.name in (Arith.REMSI, Arith.REMUI):
        return op.operands[0], op.operands[1]
    product = defining_op(op.operands[1]) if op.name == Arith.SUBI else None
    if product is None or product.name != Arith.MULI:
        return None
    quotient, divisor = defining_op(product.operands[0]), product.operands[1]
    if quotient is None or quotient.name != Arith.FLOORDIVSI:
        return None
    operands = op.operands[0], divisor
    return operands if tuple(quotient.operands) == operands else None


def _linear(op: ir.Operation, strides: list[int | None]) -> int | None:
    """The stride of a sum, of a product with a constant, or of a conversion to or from `index`."""
    name = op.name
    if name == Arith.INDEX_CAST:
        return strides[0]
    if name not in (Arith.ADDI, Arith.SUBI, Arith.MULI):
        return None
    left, right = strides
    if left is None or right is None:
        return None
    if name != Arith.MULI:
        return left + right if name == Arith.ADDI else left - right
    for stride, other in ((left, op.operands[1]), (right, op.operands[0])):
        factor = constant_integer(other)
        if factor is not None:
            return stride * factor
    return None


_VISITORS: dict[str, Callable[[Strides, ir.Operation], None]] = {
    Scf.FOR: Strides._for,
    Scf.WHILE: Strides._while,
    Scf.IF: Strides._if,
}


def _private_buffers(loop: ir.Operation, ops: list[ir.Operation]) -> set[ir.Value]:
    """The buffers that only the iterations of a loop use, each for itself: nothing that one leaves
    there may reach another, because they run in any order."""
    buffers = set()
    for op in ops:
        for value in op.operands:
            allocation = defining_op(value)
            if (
                allocation is not None
                and allocation.name in (Memref.ALLOCA, Memref.ALLOC)
                and (allocation.name == Memref.ALLOC or not is_inside(allocation, loop))
                and all(
                    is_inside(use.owner.operation, loop)
                    or use.owner.operation.name == Memref.DEALLOC
                    for use in value.uses
                )
            ):
                buffers.add(value)
    return buffers
