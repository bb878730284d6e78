"""Values that segments use of each other: cheap integers are computed again, other values wait in
arrays of the block."""

from __future__ import annotations

from collections.abc import Callable, Collection

from mlirad.bindings import ir
from mlirad.ir.pure_operations import is_integer_division, is_pure
from mlirad.ir.walk import (
    behind,
    block_operations,
    constant_integer,
    copy_with,
    defining_op,
    is_defined_in,
    operations,
    owner_operation,
)
from mlirad.passes.loops.lower_block_loops.segment_loops import Segment
from mlirad.passes.loops.lower_block_loops.thread_segments import Segments

MakeIndex = Callable[[ir.Value, ir.Value], ir.Value]  # an index of the loop, of a thread's number


class Connections:
    """Gives every segment the values that it uses of others. `indices` are those of the loop, which
    `make_index` makes at the insertion point."""

    def __init__(
        self, segments: Segments, indices: Collection[ir.Value], make_index: MakeIndex
    ) -> None:
        self._segments, self._indices, self._make_index = segments, indices, make_index
        self._homes = {segment.loop.op: segment for segment in segments.loops.segments}
        inductions = [segment.loop.induction for segment in segments.loops.segments]
        self._threads = {segments.block.thread, *inductions}
        self._arrays = dict(segments.array_of)
        self._cheap: dict[ir.Value, bool] = {}

    def make(self) -> None:
        """Have every segment use what is in it, or outside of all."""
        for segment in self._segments.loops.segments:
            values: dict[ir.Value, ir.Value] = {}
            start = block_operations(segment.end.block)[0]
            for op in list(operations(segment.loop.op)):
                for position, value in enumerate(op.operands):
                    op.operands[position] = self._value_in(segment, start, value, values)

    def _home(self, value: ir.Value) -> Segment | None:
        """The segment that a value is made in."""
        op: ir.Operation | None = owner_operation(value)
        while op is not None and op not in self._homes:
            op = op.parent
        return None if op is None else self._homes[op]

    def _value_in(
        self,
        segment: Segment,
        start: ir.Operation,
        value: ir.Value,
        values: dict[ir.Value, ir.Value],
    ) -> ir.Value:
        """A value of a thread, in a segment; the `values` are those that its start has."""
        if value in self._threads:
            return segment.loop.induction
        if is_defined_in(value, segment.loop.op):
            return value
        if value not in values:
            values[value] = self._bring(segment, start, value, values)
        return values[value]

    def _bring(
        self,
        segment: Segment,
        start: ir.Operation,
        value: ir.Value,
        values: dict[ir.Value, ir.Value],
    ) -> ir.Value:
        op, home = defining_op(value), self._home(value)
        if home is None and value not in self._arrays and value not in self._indices:
            return value
        if op is not None and self._is_cheap(value):
            operands = [self._value_in(segment, start, v, values) for v in op.operands]
            with ir.InsertionPoint(start), op.location:
                return copy_with(op, operands).results[0]
        with ir.InsertionPoint(start), start.location:
            if value in self._indices:
                return self._make_index(value, segment.loop.induction)
        if value not in self._arrays:
            assert op is not None and home is not None
            self._arrays[value] = self._segments.arrays.make(value.type, op)
            with behind(op):
                self._segments.arrays.write(value, self._arrays[value], home.loop.induction)
        with ir.InsertionPoint(start), start.location:
            array = self._arrays[value]
            return self._segments.arrays.read(value.type, array, segment.loop.induction)

    def _is_cheap(self, value: ir.Value) -> bool:
        """Return whether a value is made by integer arithmetic of what every segment has."""
        if value not in self._cheap:
            self._cheap[value] = self._look_at(value)
        return self._cheap[value]

    def _look_at(self, value: ir.Value) -> bool:
        if value in self._arrays:
            return False
        op = defining_op(value)
        if value in self._indices or value in self._threads:
            return True
        if self._home(value) is None:
            return True
        if op is None or not is_pure(op) or len(op.results) != 1:
            return False
        if not isinstance(value.type, ir.IntegerType | ir.IndexType):
            return False
        if is_integer_division(op) and not constant_integer(op.operands[1]):
            return False
        return all(map(self._is_cheap, op.operands))
