"""Store what a serial loop computes by elementary functions for loops behind it that would compute
the same.

A softmax sums `exp(x[i, j] - most)` over a row and divides the same exponentials by the sum; its
reverse needs them three times. Loops of one block with the same constant bounds, which compute the
same of rows that nothing writes meanwhile, share a buffer of a few kilobytes. Values along other
axes are computed again: there the iterations of the loop around become lanes, and each would need a
buffer. What one of the loops needs exactly is exact for all.
"""

from __future__ import annotations

from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.dialect.field import is_load, makes_array, split_access
from mlirad.ir import build as b
from mlirad.ir.elementary.vector_math import FUNCTIONS
from mlirad.ir.marks.rounding import DERIVATIVE, EXACT, FUSED, LOOSE, is_exact
from mlirad.ir.memory.array_writes import may_be_written, written_by
from mlirad.ir.memory.large_arrays import bytes_of_memref, bytes_of_number
from mlirad.ir.ops import Memref, Scf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import (
    Array,
    array_root,
    attributes_of,
    before,
    behind,
    block_operations,
    constant_integer,
    defining_op,
    entry_of,
    functions,
    is_defined_in,
    operations,
)

REQUIRES = KERNELS
_LEAST, _MOST = 16, 1 << 14  # trips; bytes of the buffers of a block, half of a first-level cache
_MARKS = frozenset({EXACT, LOOSE, DERIVATIVE})
_DIALECTS = tuple(f"{name.partition('.')[0]}." for name in (Scf.FOR, Memref.LOAD))

Bounds: TypeAlias = tuple[int, int]
Number: TypeAlias = int  # the same for the same values of loops with the same bounds


def reuse_loop_values(module: ir.Operation) -> None:
    """Let loops load what loops in front of them have computed by elementary functions."""
    for function in functions(module):
        blocks = [entry_of(function)]
        for op in operations(function):
            blocks += [block for region in op.regions for block in region.blocks]
        for block in blocks:
            if sum(map(is_for, block_operations(block))) > 1:
                _Block().run(block)


class _Value:
    """An op of a loop, and the buffer that holds its values, if there is one."""

    def __init__(self, op: ir.Operation, loop: ir.Operation, read: frozenset[Array]) -> None:
        self.op, self.loop, self.read = op, loop, read
        self.memory: ir.Value | None = None


class _Block:
    """The loops of a block, from the first to the last."""

    def __init__(self) -> None:
        self._numbers: dict[object, Number] = {}
        self._values: dict[tuple[Bounds, Number], _Value] = {}
        self._room = _MOST

    def run(self, block: ir.Block) -> None:
        """Let loops load what others in front of them have computed."""
        ops = block_operations(block)
        self._room -= sum(bytes_of_memref(op.results[0].type) for op in ops if _is_buffer(op))
        for op in ops:
            written = written_by(op, _is_harmless)
            bounds = _bounds(op) if is_for(op) else None
            if bounds is not None and written is not None:
                self._scan(op, bounds, written)
            if written is None:
                self._values.clear()
            elif written:
                self._forget(written)

    def _forget(self, written: set[Array]) -> None:
        self._values = {
            key: value for key, value in self._values.items() if not _meet(value.read, written)
        }

    def _scan(self, loop: ir.Operation, bounds: Bounds, written: set[Array]) -> None:
        """Look for functions in the body of a loop."""
        numbering, replaced = _Numbering(loop, self._numbers), list[ir.Operation]()
        for op in block_operations(For(loop).body):
            number, read = numbering.number(op)
            if op.name not in FUNCTIONS or number is None or not read or _meet(read, written):
                continue
            value = self._values.setdefault((bounds, number), _Value(op, loop, read))
            if value.loop != loop and self._reuse(value, op, loop, bounds):
                replaced.append(op)
        for op in replaced:  # not before: a new value may lie where an erased one lay
            op.erase()

    def _reuse(self, value: _Value, op: ir.Operation, loop: ir.Operation, bounds: Bounds) -> bool:
        """Let users of an op load a value; False if there is no room for it."""
        if value.memory is None:
            type_ = op.results[0].type
            size = bounds[1] * bytes_of_number(type_)
            if size > self._room:
                return False
            self._room -= size
            with before(value.loop):
                value.memory = b.alloca(ir.MemRefType.get([bounds[1]], type_))
            with behind(value.op):
                b.write(value.op.results[0], value.memory, [For(value.loop).induction])
        if is_exact(op):
            _round_exactly(value)
        with before(op):
            loaded = b.read(value.memory, [For(loop).induction])
        op.results[0].replace_all_uses_with(loaded)
        return True


class _Numbering:
    """Numbers of the values of a loop's body, and the arrays that they are made of."""

    def __init__(self, loop: ir.Operation, numbers: dict[object, Number]) -> None:
        self._loop, self._numbers = loop, numbers
        self._induction = For(loop).induction
        self._inner: dict[ir.Value, tuple[Number, frozenset[Array]]] = {}

    def number(self, op: ir.Operation) -> tuple[Number | None, frozenset[Array]]:
        """Return the number of what an op gives, None if it may differ in another loop, and the
        arrays whose elements it is made of."""
        if FUSED in op.attributes or len(op.results) != 1:
            return None, frozenset()
        if is_load(op):
            array, indices = split_access(op)
            along = [index for index in indices if is_defined_in(index, self._loop)]
            if along != [self._induction] or along != [indices[-1]]:
                return None, frozenset()
            root = array_root(array)
            operands, read = [*indices], frozenset({root})
        elif is_pure(op):
            root, operands, read = None, [*op.operands], frozenset()
        else:
            return None, frozenset()
        numbers = []
        for operand in operands:
            number, arrays = self._of_operand(operand)
            if number is None:
                return None, frozenset()
            numbers.append(number)
            read |= arrays
        marks = [pair for pair in attributes_of(op).items() if pair[0] not in _MARKS]
        result = self._number((op.name, root, tuple(numbers), tuple(marks)))
        self._inner[op.results[0]] = result, read
        return result, read

    def _of_operand(self, value: ir.Value) -> tuple[Number | None, frozenset[Array]]:
        if value == self._induction:
            return self._number("index"), frozenset()
        if not is_defined_in(value, self._loop):
            return self._number(value), frozenset()
        return self._inner.get(value, (None, frozenset()))

    def _number(self, key: object) -> Number:
        return self._numbers.setdefault(key, len(self._numbers))


def _is_buffer(op: ir.Operation) -> bool:
    return op.name == Memref.ALLOCA


def _bounds(loop: ir.Operation) -> Bounds | None:
    """Return the first index of a loop in steps of 1, and the one behind its last, if they are
    known."""
    low, high, step = map(constant_integer, list(loop.operands)[:3])
    if low is None or high is None or step != 1:
        return None
    return (low, high) if low >= 0 and high - low >= _LEAST else None


def _is_harmless(op: ir.Operation) -> bool:
    return makes_array(op) or op.name.startswith(_DIALECTS)


def _meet(read: frozenset[Array], written: set[Array]) -> bool:
    """Return whether an array that is read may be one that is written."""
    return any(may_be_written(array, written) for array in read)


def _round_exactly(value: _Value) -> None:
    """Let a value, and all that it is made of in its loop, be exact."""
    pending, visited, unit = [value.op], set[ir.Operation](), ir.UnitAttr.get()
    while pending:
        op = pending.pop()
        if op in visited:
            continue
        visited.add(op)
        for mark in (LOOSE, DERIVATIVE):
            if mark in op.attributes:
                del op.attributes[mark]
                op.attributes[EXACT] = unit
        sources = [defining_op(operand) for operand in op.operands]
        pending += [op for op in sources if op is not None and op.block == value.op.block]
