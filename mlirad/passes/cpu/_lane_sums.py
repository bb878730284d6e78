"""Sums that lanes add to elements of small arrays: each lane has sums of its own while a nest of
loops runs, and they are added up behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import is_for, runs_in_any_order
from mlirad.ir.vectors import halved
from mlirad.ir.walk import (
    attributes_of,
    before,
    block_operations,
    enclosing,
    entry_of,
    following,
    is_defined_in,
    is_inside,
)
from mlirad.passes.cpu._lane_cost import expected_trips
from mlirad.passes.cpu._lane_update import STEPS, Update
from mlirad.passes.cpu._lane_updates import Meetings
from mlirad.passes.cpu._lane_values import Values

MOST = 256  # elements of an array: with their lanes they stay in the nearest cache
_SUMS = ("arith.addf", "arith.addi")


class LaneSums:
    """The sums of lanes of one loop, by the array that they belong to."""

    def __init__(self, meetings: Meetings, values: Values) -> None:
        self.values, self.nest = values, _nest_of(meetings.strides.loop)
        self._own: dict[ir.Value, ir.Value] = {}
        for memref, updates in _by_array(meetings).items():
            if _pays(memref, updates, self.nest, meetings.strides.loop, values.width):
                self._own[memref] = self._make(memref)
                self._add_up(memref, updates[0].steps[0])

    def takes(self, update: Update) -> bool:
        """Whether an update belongs to an array of which each lane has sums."""
        return update.load.operands[0] in self._own

    def add(self, update: Update, vector: ir.Value, step: str) -> None:
        """Add what lanes have to their sums."""
        memref, *indices = update.load.operands
        places = [*map(self.values.first, indices), b.index(0)]
        old = b.make("vector.load", vector.type, [self._own[memref], *places])
        new = b.make(step, vector.type, [old, vector], **attributes_of(update.steps[0]))
        b.effect("vector.store", [new, self._own[memref], *places])

    def _make(self, memref: ir.Value) -> ir.Value:
        """Sums that begin with 0 in front of the nest."""
        type_ = ir.MemRefType(memref.type)
        function = self.nest
        while function.name != "func.func":
            function = enclosing(function)
        with before(block_operations(entry_of(function))[0]):
            kind = ir.MemRefType.get([*type_.shape, self.values.width], type_.element_type)
            own = b.make("memref.alloca", kind, [], operandSegmentSizes=_no_sizes())
        with before(self.nest):
            zero = self.values.splat(0, type_.element_type)
            _for_each(
                type_.shape,
                lambda at: b.effect("vector.store", [zero, own, *at, b.index(0)]),
            )
        return own

    def _add_up(self, memref: ir.Value, step: ir.Operation) -> None:
        """Behind the nest, add the sums of all lanes to the array."""
        own, name, attributes = self._own[memref], STEPS[step.name], attributes_of(step)
        element = ir.MemRefType(memref.type).element_type

        def add(at: Sequence[ir.Value]) -> None:
            lanes = b.make("vector.load", self.values.vector_type(element), [own, *at, b.index(0)])
            total = halved(lanes, name, attributes)
            old = b.read(memref, list(at))
            b.write(b.make(name, element, [old, total], **attributes), memref, list(at))

        with before(following(self.nest)):
            _for_each(ir.MemRefType(memref.type).shape, add)


def _no_sizes() -> ir.Attribute:
    return ir.DenseI32ArrayAttr.get([0, 0])


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
    nest = loop
    while loop.name != "func.func":
        if runs_in_any_order(loop):
            nest = loop
        loop = enclosing(loop)
    return nest


def _by_array(meetings: Meetings) -> dict[ir.Value, list[Update]]:
    """Updates by array, of those arrays of which they are sums of all lanes."""
    found: dict[ir.Value, list[Update]] = {}
    for update in meetings.updates.values():
        found.setdefault(update.load.operands[0], []).append(update)
    uniform = meetings.strides.is_uniform
    return {
        memref: updates
        for memref, updates in found.items()
        if len({STEPS.get(one.steps[0].name) for one in updates} - {*_SUMS}) == 0
        and all(one.is_sum and all(map(uniform, list(one.load.operands)[1:])) for one in updates)
    }


def _pays(
    memref: ir.Value,
    updates: Sequence[Update],
    nest: ir.Operation,
    loop: ir.Operation,
    width: int,
) -> bool:
    """Whether an array is small, nothing else in the nest uses it, and there are more updates than
    elements."""
    type_ = ir.MemRefType(memref.type)
    if not type_.has_static_shape or not 0 < prod(type_.shape) <= MOST:
        return False
    if is_defined_in(memref, nest):
        return False
    own = {op for one in updates for op in (one.load, one.store)}
    for use in memref.uses:
        user = use.owner.operation
        if user not in own and is_inside(user, nest):
            return False
    vectors = sum(_runs(one.store, nest) for one in updates) / width
    return vectors >= 2 * prod(type_.shape)


def _runs(op: ir.Operation, nest: ir.Operation) -> float:
    """How often an op is expected to run while a nest does."""
    count = 1.0
    while op != nest:
        op = enclosing(op)
        if is_for(op):
            count *= expected_trips(op)
    return count
