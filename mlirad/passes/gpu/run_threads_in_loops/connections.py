"""Values that threads keep from one segment to another: numbers in buffers, memory as rows of a
buffer.

What memory cannot hold is computed again.
"""

from math import prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.thread_loops import BoxLoop, axis_of
from mlirad.ir.memory.descriptor import memref_at, pointer_of, pointer_type
from mlirad.ir.ops import Memref
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import before, defining_op, operations, owner_operation, replace
from mlirad.passes.gpu.run_threads_in_loops.segments import THREAD_ID, Segments
from mlirad.passes.gpu.run_threads_in_loops.thread_buffers import (
    ThreadBuffers,
    is_storable,
    read,
    write,
)

STACK, HEAP = Memref.ALLOCA, Memref.ALLOC


class _Segment:
    """A segment, and what was brought to its start."""

    def __init__(self, loop: BoxLoop) -> None:
        self.loop = loop
        self.values: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint.after(owner_operation(loop.indices[-1])), loop.op.location:
            self.start = owner_operation(b.index(0))


class Connections:
    """Between the segments of one kernel."""

    def __init__(self, segments: Segments, buffers: ThreadBuffers) -> None:
        self._kept, self._buffers = dict(segments.kept), buffers
        self._segments = {loop.op: _Segment(loop) for loop in segments.loops}
        self._rows: dict[ir.Operation, ir.Value] = {}

    def make(self) -> None:
        """Have every segment use what is in it, or outside of all."""
        for segment in self._segments.values():
            for op in list(operations(segment.loop.op)):
                for position, value in enumerate(op.operands):
                    value_here = self._value_in(segment, value)
                    if value_here != value:
                        op.operands[position] = value_here
        for op, buffer in self._rows.items():
            home = self._home(op.results[0])
            assert home is not None
            with before(op):
                row = self._row(op, buffer, home)
            replace(op, [row])

    def _home(self, value: ir.Value) -> _Segment | None:
        """The segment that a value is made in."""
        op: ir.Operation | None = owner_operation(value)
        while op is not None and op not in self._segments:
            op = op.parent
        return None if op is None else self._segments[op]

    def _value_in(self, segment: _Segment, value: ir.Value) -> ir.Value:
        """A value of a thread, in a segment."""
        if value in segment.values:
            return segment.values[value]
        op, home = defining_op(value), self._home(value)
        if op is not None and op.name == THREAD_ID:
            return segment.loop.indices[axis_of(op)]
        if home is segment:
            return value
        if value not in self._kept:
            if home is None:
                return value
            assert op is not None
            if not is_storable(value.type):
                return self._rebuild_memory(op, home, segment)
            self._kept[value] = self._buffers.make(value.type, op)
            with ir.InsertionPoint.after(op), op.location:
                write(value, self._kept[value], home.loop.number)
        with before(segment.start):
            kept_value = read(value.type, self._kept[value], segment.loop.number)
        segment.values[value] = kept_value
        return kept_value

    def _rebuild_memory(self, op: ir.Operation, home: _Segment, segment: _Segment) -> ir.Value:
        """The memory that an operation of one segment makes, or names, in another."""
        if op.name == STACK:
            if op not in self._rows:
                self._rows[op] = self._buffers.make_rows(_bytes(op))
            with before(segment.start):
                memory = self._row(op, self._rows[op], segment)
        elif op.name == HEAP:
            memory = self._memory_at_address(op, home, segment)
        elif is_pure(op):
            memory = self._copy(op, segment)
        else:
            refuse(op, f"what '{op.name}' makes, kept while threads wait for one another")
        segment.values[op.results[0]] = memory
        return memory

    def _row(self, op: ir.Operation, buffer: ir.Value, segment: _Segment) -> ir.Value:
        """A thread's memory in a buffer of all, at the insertion point."""
        offset = b.mul(segment.loop.number, b.index(_bytes(op)))
        return b.make(Memref.VIEW, op.results[0].type, [buffer, offset])

    def _copy(self, op: ir.Operation, segment: _Segment) -> ir.Value:
        operands = [self._value_in(segment, operand) for operand in op.operands]
        with before(segment.start):
            copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        return copy.results[0]

    def _memory_at_address(self, op: ir.Operation, home: _Segment, segment: _Segment) -> ir.Value:
        """A thread's memory on the heap, by an address that is kept."""
        type_ = ir.MemRefType(op.results[0].type)
        extents = iter([self._value_in(segment, operand) for operand in op.operands])
        address = self._buffers.make(pointer_type(), op)
        with ir.InsertionPoint.after(op), op.location:
            write(pointer_of(op.results[0]), address, home.loop.number)
        unknown = ir.ShapedType.get_dynamic_size()
        with before(segment.start):
            sizes = [next(extents) if size == unknown else b.index(size) for size in type_.shape]
            strides = [b.index(1)]
            for size in reversed(sizes[1:]):
                strides.insert(0, b.mul(strides[0], size))
            pointer = read(pointer_type(), address, segment.loop.number)
            return memref_at(pointer, type_, sizes, strides[: len(sizes)])


def _bytes(op: ir.Operation) -> int:
    """The size of memory. Raises TaichiCompilationError if it is not known."""
    type_ = ir.MemRefType(op.results[0].type)
    if len(op.operands):
        refuse(op, "memory of a thread whose size is known only when it runs")
    element = type_.element_type
    if isinstance(element, ir.IndexType):
        bits = 64
    elif isinstance(element, ir.IntegerType | ir.FloatType):
        bits = element.width
    else:
        refuse(op, f"memory of '{element}', kept while threads wait for one another")
    return prod(type_.shape) * ((bits + 7) // 8)
