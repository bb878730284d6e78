"""Sums that lanes add to elements of small arrays: each lane has sums of its own while a nest of
loops runs, and they are added up behind it.

Only an axis along which updates move has sums. Where threads share a loop, an array is taken only
where a chunk has a row of it to itself: behind the nest all elements of the row are written, those
too that the chunk did not update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mlirad.analysis.lanes.cost import expected_trips
from mlirad.analysis.lanes.lane_meetings import Meetings
from mlirad.analysis.lanes.updates import STEPS, Update
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Func, Memref
from mlirad.ir.requirements import symbol_of
from mlirad.ir.structured import is_for, is_parallel, runs_in_any_order
from mlirad.ir.vectors import load_lanes, reduce_in_halves, store_lanes
from mlirad.ir.walk import (
    ancestors,
    attributes_of,
    before,
    behind,
    block_operations,
    defining_op,
    enclosing,
    entry_of,
    function_of,
    is_defined_in,
    is_inside,
    operations,
)
from mlirad.passes.cpu.insert_lanes.values import Values

MOST = 256  # elements of an array: with their lanes they stay in the nearest cache
_CHUNK = 2  # the argument of a chunk function that is the chunk's number
_SUMS = (Arith.ADDF, Arith.ADDI)


class LaneSums:
    """The sums of lanes of one loop, by the array that they belong to."""

    def __init__(self, meetings: Meetings, values: Values) -> None:
        self.values, self.nest = values, _nest_of(meetings.strides.loop)
        self._own: dict[ir.Value, ir.Value] = {}
        self._moving: dict[ir.Value, list[int]] = {}
        for memref, updates in _group_by_array(meetings).items():
            moving = _moving_axes(updates, self.nest)
            if _is_of_one_thread(memref, updates, moving, self.nest) and _pays(
                memref, updates, moving, self.nest, values.width
            ):
                self._moving[memref] = moving
                self._own[memref] = self._make(memref)
                self._add_up(memref, updates[0])

    def takes(self, update: Update) -> bool:
        """Return whether an update belongs to an array of which each lane has sums."""
        return update.load.operands[0] in self._own

    def add(self, update: Update, vector: ir.Value, step: str) -> None:
        """Add what lanes have to their sums."""
        memref, *indices = update.load.operands
        moving = [indices[axis] for axis in self._moving[memref]]
        places = [*map(self.values.first, moving), b.index(0)]
        old = load_lanes(self._own[memref], places, vector.type)
        new = b.make(step, vector.type, [old, vector], **attributes_of(update.steps[0]))
        store_lanes(new, self._own[memref], places)

    def _make(self, memref: ir.Value) -> ir.Value:
        """Sums that begin with 0 in front of the nest."""
        type_, shape = ir.MemRefType(memref.type), self._shape(memref)
        with before(block_operations(entry_of(function_of(self.nest)))[0]):
            kind = ir.MemRefType.get([*shape, self.values.width], type_.element_type)
            lane_sums = b.alloca(kind)
        with before(self.nest):
            zero = self.values.splat(0, type_.element_type)
            _for_each(shape, lambda at: store_lanes(zero, lane_sums, [*at, b.index(0)]))
        return lane_sums

    def _shape(self, memref: ir.Value) -> list[int]:
        extents = ir.MemRefType(memref.type).shape
        return [extents[axis] for axis in self._moving[memref]]

    def _add_up(self, memref: ir.Value, update: Update) -> None:
        """Behind the nest, add the sums of all lanes to the array."""
        step, moving = update.steps[0], self._moving[memref]
        lane_sums, name, attributes = self._own[memref], STEPS[step.name], attributes_of(step)
        element = ir.MemRefType(memref.type).element_type

        def add(at: Sequence[ir.Value]) -> None:
            lanes = load_lanes(lane_sums, [*at, b.index(0)], self.values.vector_type(element))
            total = reduce_in_halves(lanes, name, attributes)
            place = list(update.load.operands)[1:]
            for axis, index in zip(moving, at):
                place[axis] = index
            old = b.read(memref, place)
            b.write(b.make(name, element, [old, total], **attributes), memref, place)

        with behind(self.nest):
            _for_each(self._shape(memref), add)


def _for_each(
    shape: Sequence[int], emit: Callable[[Sequence[ir.Value]], object], at: Sequence[ir.Value] = ()
) -> None:
    """Emit something for every element of an array."""
    if not shape:
        emit(at)
        return
    loop = b.for_loop(b.index(0), b.index(shape[0]), b.index(1), [])
    with ir.InsertionPoint(loop.body):
        _for_each(shape[1:], emit, [*at, loop.induction])
        b.yield_([])


def _nest_of(loop: ir.Operation) -> ir.Operation:
    """The outermost loop around one, with it, that runs in any order."""
    return [op for op in (loop, *ancestors(loop)) if runs_in_any_order(op)][-1]


def _moving_axes(updates: Sequence[Update], nest: ir.Operation) -> list[int]:
    """The axes but those along which all updates have one index, of before the nest."""
    columns = list(zip(*(list(update.load.operands)[1:] for update in updates)))
    return [
        axis
        for axis, indices in enumerate(columns)
        if len(set(indices)) > 1 or is_defined_in(indices[0], nest)
    ]


def _is_of_one_thread(
    memref: ir.Value, updates: Sequence[Update], moving: Sequence[int], nest: ir.Operation
) -> bool:
    """Return whether no other thread uses the elements that behind a nest are written."""
    function, maker = function_of(nest), defining_op(memref)
    if not _is_shared(function) or (maker is not None and maker.name == Memref.ALLOCA):
        return True
    chunk = list(entry_of(function).arguments)[_CHUNK]
    fixed = [x for axis, x in enumerate(list(updates[0].load.operands)[1:]) if axis not in moving]
    return chunk in fixed


def _is_shared(function: ir.Operation) -> bool:
    """Return whether iterations of a parallel loop call a function."""
    callee = ir.FlatSymbolRefAttr.get(symbol_of(function))
    return any(
        op.name == Func.CALL and op.attributes["callee"] == callee
        for loop in operations(enclosing(function))
        if is_parallel(loop)
        for op in operations(loop)
    )


def _group_by_array(meetings: Meetings) -> dict[ir.Value, list[Update]]:
    """Updates by array, of those arrays of which they are sums of all lanes."""
    updates_by_array: dict[ir.Value, list[Update]] = {}
    for update in meetings.updates.values():
        updates_by_array.setdefault(update.load.operands[0], []).append(update)
    uniform = meetings.strides.is_uniform
    return {
        memref: updates
        for memref, updates in updates_by_array.items()
        if all(
            array_update.is_sum and all(map(uniform, list(array_update.load.operands)[1:]))
            for array_update in updates
        )
        and {STEPS[array_update.steps[0].name] for array_update in updates} <= {*_SUMS}
    }


def _pays(
    memref: ir.Value,
    updates: Sequence[Update],
    moving: Sequence[int],
    nest: ir.Operation,
    width: int,
) -> bool:
    """Return whether an array is small, nothing else in the nest uses it, and there are more
    updates than elements."""
    type_ = ir.MemRefType(memref.type)
    if not type_.has_static_shape:
        return False
    size = prod(type_.shape[axis] for axis in moving)
    if not 0 < size <= MOST:
        return False
    if is_defined_in(memref, nest):
        return False
    update_ops = {op for update in updates for op in (update.load, update.store)}
    for use in memref.uses:
        user = use.owner.operation
        if user not in update_ops and is_inside(user, nest):
            return False
    vectors = sum(_runs(update.store, nest) for update in updates) / width
    return vectors >= 2 * size


def _runs(op: ir.Operation, nest: ir.Operation) -> float:
    """Return how often an op is expected to run while a nest does."""
    owners = [nest, *ancestors(op, nest)]
    return prod(expected_trips(owner) for owner in owners if is_for(owner))
