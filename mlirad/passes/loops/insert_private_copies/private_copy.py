"""A copy a thread of an array that a parallel loop only adds to."""

from __future__ import annotations

from math import prod

import msgspec

from mlirad.analysis.linear import Linear, linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AtomicKind, array_of, array_type, element_type, split_access
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import round_as, update_marks
from mlirad.ir.memory.large_arrays import bytes_of
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.structured import is_for
from mlirad.ir.walk import before, behind, enclosing, is_defined_in, owner_operation

LARGEST = 1 << 28  # bytes of all copies of one array
# bytes of copies that stay for the next launch, which finds zeros: a new page of the heap takes as
# long as hundreds of its updates
LASTING = 1 << 20


def copy_array(
    module: ir.Operation, loop: ir.Operation, group: list[ir.Operation], threads: int
) -> None:
    """Let the updates of an array be of a copy per thread, if that is cheaper than atomics: if
    there are at least as many updates as elements of copies to clear and to add."""
    array = split_access(group[0])[0]
    extents = array_of(array.type)[1]
    forms = [[linear_form(i) for i in split_access(op)[1]] for op in group]
    moving = [
        axis for axis in range(len(extents)) if not _is_fixed(loop, [form[axis] for form in forms])
    ]
    size = prod(extents[axis] for axis in moving)
    type_ = array_type(element_type(array.type), [threads, *(extents[axis] for axis in moving)])
    if not moving or bytes_of(type_) > LARGEST or _updates(loop, group) < threads * size:
        return
    fixed = {
        axis: split_access(group[0])[1][axis] for axis in range(len(extents)) if axis not in moving
    }
    with before(loop):
        copies = _copies(module, type_)
        array, fixed = (
            _outside(array, loop),
            {axis: _outside(value, loop) for axis, value in fixed.items()},
        )
    for op in group:
        with before(op):
            chunk = field.chunk()
            indices = split_access(op)[1]
            at = [chunk, *(indices[a] for a in moving)]
            field.atomic(op.operands[0], copies, at, marks=_plain(update_marks(op)))
    total = _Total(array, fixed, moving, [extents[a] for a in moving], update_marks(group[0]))
    for op in group:
        op.erase()
    with behind(loop):
        total.add(copies, threads)


def _copies(module: ir.Operation, type_: ir.Type) -> ir.Value:
    """Zeros, gotten at the insertion point."""
    if _last(type_):
        return scratch(module, element_type(type_), array_of(type_)[1])
    return field.alloca(type_)


def _last(type_: ir.Type) -> bool:
    """Return whether copies stay for the next launch, and are cleared for it."""
    return bytes_of(type_) >= LASTING


def _plain(marks: dict[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """The marks of an update that none at the same time meets."""
    return {PLAIN_MARK: ir.UnitAttr.get(), **marks}


def _outside(value: ir.Value, loop: ir.Operation) -> ir.Value:
    """A value before the loop: itself, or the index arithmetic it is made of, again."""
    if not is_defined_in(value, loop):
        return value
    op = owner_operation(value)
    copy = op.clone()
    for position, operand in enumerate(op.operands):
        copy.operands[position] = _outside_before(operand, loop, copy)
    return copy.results[0]


def _outside_before(value: ir.Value, loop: ir.Operation, anchor: ir.Operation) -> ir.Value:
    with ir.InsertionPoint(anchor):
        return _outside(value, loop)


def _is_fixed(loop: ir.Operation, forms: list[Linear[ir.Value]]) -> bool:
    """Return whether all accesses have one index along an axis, which the loop does not change."""
    return len(set(forms)) == 1 and all(not is_defined_in(leaf, loop) for leaf in forms[0].names)


def _updates(loop: ir.Operation, group: list[ir.Operation]) -> int:
    """Return how many updates the loop makes, as far as trip counts are known."""
    trips = prod(span.expected_trips for span in spans(loop))
    total = 0
    for op in group:
        count, parent = trips, enclosing(op)
        while parent != loop:
            if is_for(parent):
                count *= spans(parent)[0].expected_trips
            parent = enclosing(parent)
        total += count
    return total


class _Total(msgspec.Struct, frozen=True):
    """The array to which copies are added up, some of whose axes have fixed indices, and some
    extents; and how the sums round."""

    array: ir.Value
    fixed: dict[int, ir.Value]
    moving: list[int]
    extents: list[int]
    marks: dict[str, ir.Attribute]

    def add(self, copies: ir.Value, threads: int) -> None:
        """Add copies to the array by a parallel loop, in the order of the threads."""
        zero, step, rank = b.index(0), b.index(1), len(self.moving)
        axis = {"field.axis": ir.IntegerAttr.get(b.integer_type(64), 0)}
        ends = [b.index(extent) for extent in self.extents]
        loop = b.parallel_loop([zero] * rank, ends, [step] * rank, axis)
        with ir.InsertionPoint(loop.body):
            place = dict(zip(self.moving, loop.indices))
            places = [[b.index(k), *place.values()] for k in range(threads)]
            value = self._sum([field.load(copies, at) for at in places])
            if _last(copies.type):
                clear = b.number(0, value.type)
                for at in places:
                    field.store(clear, copies, at)
            axes = range(rank + len(self.fixed))
            indices = [place[a] if a in place else self.fixed[a] for a in axes]
            field.atomic(value, self.array, indices, marks=_plain(self.marks))
            b.end_parallel()

    def _sum(self, addends: list[ir.Value]) -> ir.Value:
        total = addends[0]
        for addend in addends[1:]:
            total = round_as(b.combine(AtomicKind.ADD, total, addend), self.marks)
        return total
