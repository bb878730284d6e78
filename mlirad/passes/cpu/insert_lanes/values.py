"""The values of a loop's body when its iterations run as lanes: one for all, or a vector."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from mlirad.analysis.lanes.strides import Strides
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.vectors import extract, spread, vector_of
from mlirad.ir.walk import defining_op

Mask = ir.Value | None  # the lanes that are active; None for all. Never none of them


class Values:
    """The values that stand for those of the loop, in blocks that end: `first` are those of the
    first lane, where the others follow from a stride, `vectors` those of all lanes."""

    def __init__(self, strides: Strides, width: int) -> None:
        self.strides, self.width = strides, width
        self._first: list[dict[ir.Value, ir.Value]] = [{}]
        self._vectors: list[dict[ir.Value, ir.Value]] = [{}]
        self._lanes: list[dict[Hashable, list[ir.Value]]] = [{}]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values that are made here are not known behind."""
        self._first.append({})
        self._vectors.append({})
        self._lanes.append({})
        try:
            yield
        finally:
            self._first.pop()
            self._vectors.pop()
            self._lanes.pop()

    def set(self, old: ir.Value, new: ir.Value) -> None:
        """Let a value stand for one of the loop: a vector where lanes differ without a stride."""
        where = self._vectors if self.strides.stride_of(old) is None else self._first
        where[-1][old] = new

    def vector_type(self, type_: ir.Type) -> ir.Type:
        """A lane's type for all lanes."""
        return vector_of(self.width, type_)

    def kept_type(self, value: ir.Value) -> ir.Type:
        """The type of what stands for a value."""
        return self.vector_type(value.type) if self.strides.stride_of(value) is None else value.type

    def in_form_of(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """A value in the form in which another is kept."""
        return self.vector(value) if self.strides.stride_of(like) is None else self.first(value)

    def first(self, value: ir.Value) -> ir.Value:
        """A value of stride 0, or what another with a stride is in the first lane."""
        for scope_values in reversed(self._first):
            if value in scope_values:
                return scope_values[value]
        assert value not in self.strides.known, value
        return value

    def vector(self, value: ir.Value) -> ir.Value:
        """A value in all lanes, made at the insertion point if it is not known."""
        for scope_vectors in reversed(self._vectors):
            if value in scope_vectors:
                return scope_vectors[value]
        lanes = self._vectors[-1][value] = self._spread(value)
        return lanes

    def _spread(self, value: ir.Value) -> ir.Value:
        stride, op = self.strides.stride_of(value), defining_op(value)
        assert stride is not None, value
        if stride and op is not None and op.name == Arith.INDEX_CAST:
            return b.make(op.name, self.vector_type(value.type), [self.vector(op.operands[0])])
        same = self.broadcast(self.first(value))
        return b.add(same, self.steps(stride, value.type)) if stride else same

    def broadcast(self, value: ir.Value) -> ir.Value:
        """One value for all lanes."""
        return spread(value, self.vector_type(value.type))

    def steps(self, stride: int, type_: ir.Type) -> ir.Value:
        """Return how far lanes are from the first."""
        numbers = [ir.IntegerAttr.get(type_, stride * k) for k in range(self.width)]
        vector = self.vector_type(type_)
        steps = ir.DenseElementsAttr.get(numbers, vector)
        return b.make(Arith.CONSTANT, vector, [], value=steps)

    def splat(self, number: float, type_: ir.Type) -> ir.Value:
        """One number for all lanes."""
        return b.number(number, self.vector_type(type_))

    def lane(self, value: ir.Value, number: int) -> ir.Value:
        """A value in one lane."""
        stride = self.strides.stride_of(value)
        if stride is None:
            return extract(self.vector(value), number)
        first = self.first(value)
        return b.add(first, b.number(stride * number, value.type)) if stride * number else first

    def lane_by_lane(self, key: Hashable, make: Callable[[], list[ir.Value]]) -> list[ir.Value]:
        """The values of all lanes, one by one, made at the insertion point if they are not
        known."""
        for scope_lanes in reversed(self._lanes):
            if key in scope_lanes:
                return scope_lanes[key]
        lanes = make()
        self._lanes[-1][key] = lanes
        return lanes

    # Masks.

    def all_lanes(self) -> ir.Value:
        """A mask of all lanes."""
        return self.splat(1, b.integer_type(1))

    def and_condition(self, mask: Mask, condition: ir.Value) -> ir.Value:
        """The active lanes where a condition holds, which may be poison in others."""
        if mask is None:
            return condition
        none = self.splat(0, b.integer_type(1))
        return b.select(mask, condition, none)

    def select(self, mask: Mask, where: ir.Value, elsewhere: ir.Value) -> ir.Value:
        """One value in active lanes, another in the rest."""
        if mask is None:
            return where
        return b.select(mask, where, elsewhere)

    def lanes_below(self, count: ir.Value) -> ir.Value:
        """The lanes whose number is below an index, which is not negative."""
        i32 = b.integer_type(32)
        few = b.minsi(count, b.index(self.width))
        limit = self.broadcast(b.index_cast(few, i32))
        return b.compare(b.SLT, self.steps(1, i32), limit)


def stored_type(type_: ir.Type) -> ir.Type:
    """Return what an element is in memory: vectors of truth values would be there in bits."""
    return b.integer_type(8) if type_ == b.integer_type(1) else type_
