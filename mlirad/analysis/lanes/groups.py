"""Accesses of one block whose elements lie beside one another in each lane, as the components of a
vector or of a struct do: of neighboring iterations these are the rows of a table, of which lanes
have columns. Rows are loaded and stored, and turned into columns by shuffles. Where lanes are an
unknown distance apart, rows lie around cells (`cell_places.py`), and are loaded, or updated.

No element is used that lies in front of the first that a lane accesses, or behind the last.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from enum import Enum

import msgspec

from mlirad.analysis.lanes.cell_places import Cell, cell_of
from mlirad.analysis.lanes.cell_rows import rows_of_loads, rows_of_updates
from mlirad.analysis.lanes.lane_meetings import Meetings
from mlirad.analysis.lanes.steps import (
    DYNAMIC,
    accessed_element,
    address_step,
    covered_elements,
    element_sum,
)
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.lanes.updates import STEPS, Update
from mlirad.analysis.linear import Linear
from mlirad.bindings import ir
from mlirad.ir.ops import Memref
from mlirad.ir.walk import attributes_of, block_operations, operations

ROW = 4  # elements: a quarter of a vector, or half of one, or all of it
_APART = range(ROW, 65)  # elements between neighboring iterations
_BITS = (32, 64)


class Kind(Enum):
    """Ways of groups to access memory."""

    LOAD = "load"
    STORE = "store"
    UPDATE = "update"


class Access(msgspec.Struct, frozen=True):
    """An access of lanes that are a number of elements apart, or at a distance from their cells:
    `base` is where the first of them is, but for a number that is the `offset`."""

    op: ir.Operation
    position: int
    step: int
    base: Hashable
    offset: int
    cell: Cell | None = None


class Group(msgspec.Struct, frozen=True, eq=False):
    """Accesses to elements of a row of `length` elements, in their order, which are done in the
    place of one of them, `at`. `numbers` are their positions in the row. Rows begin every `step`
    elements, the first `start` elements behind the element of `at`, or at a `cell`."""

    at: ir.Operation
    ops: tuple[ir.Operation, ...]
    numbers: tuple[int, ...]
    start: int
    step: int
    length: int
    cell: Cell | None


class Groups:
    """The groups of a loop's blocks, by what belongs to them."""

    def __init__(self, strides: Strides, meetings: Meetings, width: int) -> None:
        self._strides, self._width = strides, width
        self.updates = meetings.updates
        self._single = {*meetings.updates, *meetings.combined}
        self._known: dict[ir.Block, dict[ir.Operation, Group]] = {}

    def group_of(self, op: ir.Operation) -> Group | None:
        """The group of an access, of an update that of its store; none where it stands alone."""
        if self._width % ROW:
            return None
        if op.block not in self._known:
            self._known[op.block] = dict(self._find_groups(block_operations(op.block)))
        return self._known[op.block].get(op)

    def _find_groups(self, ops: list[ir.Operation]) -> Iterator[tuple[ir.Operation, Group]]:
        alike: dict[tuple[Kind, Hashable, ir.Value, int, Hashable], list[Access]] = {}
        for position, op in enumerate(ops):
            kind = self._kind(op)
            access = None if kind is None else self.access(op, position)
            if kind is None or access is None or not _has_rows(kind, access):
                continue
            way = _update_way(self.updates[op]) if kind is Kind.UPDATE else None
            key = (kind, way, _memref(op), access.step, access.base)
            alike.setdefault(key, []).append(access)
        if all(len(accesses) == 1 for accesses in alike.values()):
            return
        order = _Order(ops, self)
        for kind in Kind:
            for key, accesses in alike.items():
                if key[0] is not kind:
                    continue
                for row in _rows(accesses, kind):
                    if order.allows(row.accesses, kind):
                        group = _group(row, kind)
                        yield from ((op, group) for op in group.ops)

    def _kind(self, op: ir.Operation) -> Kind | None:
        """Return what an access does that may be one of a group."""
        update = self.updates.get(op)
        if update is not None:
            return Kind.UPDATE if _update_way(update) is not None else None
        if op in self._single or op.name not in (Memref.LOAD, Memref.STORE):
            return None
        return Kind.LOAD if op.name == Memref.LOAD else Kind.STORE

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
        if distance is None:
            return self._at_cell(op, position, type_, indices)
        if distance not in _APART:
            return None
        total = element_sum(memref, indices)
        return Access(op, position, distance, Linear(total.terms, 0), total.constant)

    def _at_cell(
        self, op: ir.Operation, position: int, type_: ir.MemRefType, indices: list[ir.Value]
    ) -> Access | None:
        steps, _ = type_.get_strides_and_offset()
        cell = cell_of(self._strides, covered_elements(type_), steps, indices)
        if cell is None:
            return None
        return Access(op, position, 0, cell.terms, cell.distance, cell)


def _has_rows(kind: Kind, access: Access) -> bool:
    """Return whether an access may be one of a row: stores where rows are apart, updates where they
    are not."""
    return kind is Kind.LOAD or (kind is Kind.UPDATE) == (access.cell is not None)


def _update_way(update: Update) -> Hashable:
    """Return what updates have in common that may be done together; None of others."""
    if not update.is_sum:
        return None
    (step,) = update.steps
    return step.name, frozenset(attributes_of(step).items())


def _memref(op: ir.Operation) -> ir.Value:
    return op.operands[op.name == Memref.STORE]


class _Row(msgspec.Struct, frozen=True):
    """Accesses that may be done together, to elements of a row."""

    accesses: list[Access]
    start: int
    length: int


def _rows(accesses: Sequence[Access], kind: Kind) -> Iterator[_Row]:
    """Yield the accesses to elements at known distances that are a row: of loads two at least, of
    stores all, as what is between them is not written."""
    first = {access.offset: access for access in reversed(accesses)}
    cell = accesses[0].cell
    if cell is not None:
        rows = rows_of_updates(first, cell.unit) if kind is Kind.UPDATE else rows_of_loads(first)
        yield from (_Row([first[o] for o in row.used], row.start, row.length) for row in rows)
        return
    least = 2 if kind is Kind.LOAD else ROW
    if kind is Kind.STORE and len(first) < len(accesses):
        return
    waiting = sorted(first)
    while waiting:
        row = [offset for offset in waiting if offset < waiting[0] + ROW]
        group_row = row if len(row) >= least else row[:1]
        if len(row) >= least:
            yield _Row([first[offset] for offset in row], row[0], row[-1] + 1 - row[0])
        waiting = waiting[len(group_row) :]


def _group(row: _Row, kind: Kind) -> Group:
    ordered = sorted(row.accesses, key=lambda access: access.position)
    at = ordered[0 if kind is Kind.LOAD else -1]
    cell = at.cell
    return Group(
        at.op,
        tuple(access.op for access in row.accesses),
        tuple(access.offset - row.start for access in row.accesses),
        row.start - at.offset,
        at.step,
        row.length,
        None if cell is None else Cell(cell.terms, row.start, cell.unit),
    )


class _Order:
    """The order of the accesses of a block that may be done together: loads where the first of them
    is, stores and updates where the last is. `moved` says where each op is done from now on."""

    def __init__(self, ops: list[ir.Operation], groups: Groups) -> None:
        self.groups = groups
        self.moved = {op: position for position, op in enumerate(ops)}
        self._users: dict[ir.Value, list[ir.Operation]] = {}
        for op in ops:
            for memref in {v for inner in (op, *operations(op)) for v in inner.operands}:
                if isinstance(memref.type, ir.MemRefType):
                    self._users.setdefault(memref, []).append(op)
        self._sums: dict[ir.Operation, str] = {}  # what the ops of updates combine by
        for update in groups.updates.values():
            if update.is_sum:
                combine = STEPS[update.steps[0].name]
                self._sums.update({update.load: combine, update.store: combine})

    def allows(self, row: list[Access], kind: Kind) -> bool:
        """Return whether nothing is between them that may touch their elements; they are moved
        then."""
        positions = [access.position for access in row]
        low, high = min(positions), max(positions)
        row_ops = {access.op for access in row}
        is_load = kind is Kind.LOAD
        for op in self._users[_memref(row[0].op)]:
            if (
                op in row_ops
                or not low < self.moved[op] < high
                or (is_load and op.name == Memref.LOAD)
                or (kind is Kind.UPDATE and self._are_alike(op, row[0].op))
            ):
                continue
            place = self.moved[op]
            passed = [a for a in row if (a.position > place if is_load else a.position < place)]
            if self._may_meet(op, passed):
                return False
        self.moved.update((op, low if is_load else high) for op in row_ops)
        return True

    def _are_alike(self, op: ir.Operation, store: ir.Operation) -> bool:
        """Return whether an op is one of an update that may be done before or after another."""
        return op in self._sums and self._sums[op] == self._sums[store]

    def _may_meet(self, op: ir.Operation, row: list[Access]) -> bool:
        other, access = self.groups.access(op), row[0]
        if other is None or access.cell or (other.step, other.base) != (access.step, access.base):
            return True
        return any((other.offset - access.offset) % other.step == 0 for access in row)
