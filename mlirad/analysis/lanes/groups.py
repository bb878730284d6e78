"""Accesses of one block whose elements lie beside one another in each lane, as the components of a
vector or of a struct do: of neighboring iterations these are the rows of a table, of which lanes
have columns. Rows are loaded and stored, and turned into columns by shuffles.

No element is used that lies in front of the first that a lane accesses, or behind the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mlirad.analysis.lanes.lane_meetings import Meetings
from mlirad.analysis.lanes.steps import DYNAMIC, accessed_element, address_step
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.bindings import ir
from mlirad.ir.ops import Memref
from mlirad.ir.walk import block_operations, operations

ROW = 4  # elements: a quarter of a vector, or half of one, or all of it
_APART = range(ROW, 65)  # elements between neighboring iterations
_BITS = (32, 64)


class Access(msgspec.Struct, frozen=True):
    """An access of lanes that are a number of elements apart: `sum` is where the first of them
    is, but for a number that is the `offset`."""

    op: ir.Operation
    position: int
    step: int
    sum: Linear[ir.Value]
    offset: int


class Group(msgspec.Struct, frozen=True, eq=False):
    """Accesses to elements of a row, in the order of the elements: what is done in the place of
    one of them, `at`. `numbers` are their positions in the row, `start` is where the row begins,
    beside the element of `at`."""

    at: ir.Operation
    ops: tuple[ir.Operation, ...]
    numbers: tuple[int, ...]
    start: int
    step: int


class Groups:
    """The groups of a loop's blocks, by what belongs to them."""

    def __init__(self, strides: Strides, meetings: Meetings, width: int) -> None:
        self._strides, self._width = strides, width
        self._single = {*meetings.updates, *meetings.combined}
        self._known: dict[ir.Block, dict[ir.Operation, Group]] = {}

    def group_of(self, op: ir.Operation) -> Group | None:
        """The group of an access; none where it stands alone."""
        if self._width % ROW:
            return None
        if op.block not in self._known:
            self._known[op.block] = dict(self._find_groups(block_operations(op.block)))
        return self._known[op.block].get(op)

    def _find_groups(self, ops: list[ir.Operation]) -> Iterator[tuple[ir.Operation, Group]]:
        alike: dict[tuple[bool, ir.Value, int, Linear[ir.Value]], list[Access]] = {}
        for position, op in enumerate(ops):
            access = None if op in self._single else self.access(op, position)
            if access is not None:
                key = (op.name == Memref.LOAD, _memref(op), access.step, access.sum)
                alike.setdefault(key, []).append(access)
        if all(len(accesses) == 1 for accesses in alike.values()):
            return
        order = _Order(ops, self)
        for is_load in (True, False):
            for key, accesses in alike.items():
                if key[0] != is_load:
                    continue
                for row in _rows(accesses, is_load):
                    if order.allows(row, is_load):
                        group = _group(row, is_load)
                        yield from ((access.op, group) for access in row)

    def access(self, op: ir.Operation, position: int = 0) -> Access | None:
        """An access whose lanes are a known number of elements apart, as far as in rows."""
        place = accessed_element(op)
        if place is None:
            return None
        memref, indices = place
        type_ = ir.MemRefType(memref.type)
        steps, _ = type_.get_strides_and_offset()
        kind = type_.element_type
        if (
            memref in self._strides.private
            or not isinstance(kind, ir.IntegerType | ir.FloatType)
            or kind.width not in _BITS
            or DYNAMIC in steps
        ):
            return None
        distance = address_step(self._strides, memref, indices)
        if distance is None or distance not in _APART:
            return None
        total: Linear[ir.Value] = number(0)
        for index, step in zip(indices, steps):
            total = total.plus(linear_form(index), step)
        return Access(op, position, distance, Linear(total.terms, 0), total.constant)


def _memref(op: ir.Operation) -> ir.Value:
    return op.operands[op.name == Memref.STORE]


def _rows(accesses: Sequence[Access], is_load: bool) -> Iterator[list[Access]]:
    """Yield the accesses to elements at known distances that are a row: of loads two at least, of
    stores all, as what is between them is not written."""
    least = 2 if is_load else ROW
    first = {access.offset: access for access in reversed(accesses)}
    if not is_load and len(first) < len(accesses):
        return
    waiting = sorted(first)
    while waiting:
        row = [offset for offset in waiting if offset < waiting[0] + ROW]
        group_row = row if len(row) >= least else row[:1]
        if len(row) >= least:
            yield [first[offset] for offset in row]
        waiting = waiting[len(group_row) :]


def _group(row: list[Access], is_load: bool) -> Group:
    ordered = sorted(row, key=lambda access: access.position)
    at, first = ordered[0 if is_load else -1], row[0].offset
    return Group(
        at.op,
        tuple(access.op for access in row),
        tuple(access.offset - first for access in row),
        first - at.offset,
        at.step,
    )


class _Order:
    """The order of the accesses of a block that may be done together: loads where the first of them
    is, stores where the last is. `moved` says where each op is done from now on."""

    def __init__(self, ops: list[ir.Operation], groups: Groups) -> None:
        self.groups = groups
        self.moved = {op: position for position, op in enumerate(ops)}
        self._users: dict[ir.Value, list[ir.Operation]] = {}
        for op in ops:
            for memref in {v for inner in (op, *operations(op)) for v in inner.operands}:
                if isinstance(memref.type, ir.MemRefType):
                    self._users.setdefault(memref, []).append(op)

    def allows(self, row: list[Access], is_load: bool) -> bool:
        """Return whether nothing is between them that may touch their elements; they are moved
        then."""
        positions = [access.position for access in row]
        low, high = min(positions), max(positions)
        row_ops = {access.op for access in row}
        for op in self._users[_memref(row[0].op)]:
            if (
                op in row_ops
                or not low < self.moved[op] < high
                or (is_load and op.name == Memref.LOAD)
            ):
                continue
            place = self.moved[op]
            passed = [a for a in row if (a.position > place if is_load else a.position < place)]
            if self._may_meet(op, passed):
                return False
        self.moved.update((op, low if is_load else high) for op in row_ops)
        return True

    def _may_meet(self, op: ir.Operation, row: list[Access]) -> bool:
        other = self.groups.access(op)
        if other is None or (other.step, other.sum) != (row[0].step, row[0].sum):
            return True
        return any((other.offset - access.offset) % other.step == 0 for access in row)
