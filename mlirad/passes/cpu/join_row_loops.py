"""Parallel loops over the same rows as one, so that a row stays in the cache from loop to loop.

    parallel i, k: e[i, k] = exp(x[i, k])          parallel i:
    parallel i: s[i] = sum of e[i, :]        ->      for k: e[k] = exp(x[i, k])
    parallel i, k: y[i, k] = e[i, k] / s[i]          s = sum of e[:]
                                                     for k: y[i, k] = e[k] / s

The loops follow one another and have their first axes in common; of what one of them writes and
another uses, each uses what is at the indices of these axes, a row. Rows are joined that fit a
cache together. Some loops stay as they are: those that add up more than their row are products,
which become tiles; those that carry what LLVM has no vectors for (where the greatest number was)
take lanes from row to row; and of the axes of some something is said. An array that is the launch's
own, and that no other loop uses, becomes memory of one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from mlirad.analysis.lanes.lane_meetings import are_vector_sums
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.marks.axis_choices import AxisChoice, choice_of, choices_of, set_choices
from mlirad.ir.ops import Affine
from mlirad.ir.reports.remarks import copy_remarks, remark
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import is_own, parameter_attributes
from mlirad.ir.structured import ANY_ORDER, Parallel, is_for, is_parallel
from mlirad.ir.walk import (
    accesses,
    ancestors,
    at_end,
    at_start,
    attributes_of,
    before,
    block_operations,
    clone,
    constant_integer,
    entry_of,
    functions,
    is_defined_in,
    is_inside,
    operations,
    replace,
    users_of,
)

LARGEST = 1 << 18  # bytes of the rows of a joined loop

_PURE = ("arith.", "math.", "field.dim", "field.get", Affine.APPLY)
_INSIDE = (*_PURE, "field.load", "field.store", "field.atomic", "scf.")

REQUIRES = KERNELS


def join_row_loops(root: ir.Operation) -> None:
    """Join consecutive parallel loops over the same rows."""
    for function in functions(root):
        candidates = [
            array
            for array, label in zip(entry_of(function).arguments, parameter_attributes(function))
            if is_own(label)
        ]
        for group in list(_groups(function)):
            joined = _join(group)
            for array in candidates:
                _keep_a_row(array, joined, group.depth)


class _RowLoop(msgspec.Struct):
    """A parallel loop that may be joined with others."""

    loop: Parallel
    uses: dict[ir.Value, list[list[ir.Value]]]  # the indices at which it uses an array
    written: set[ir.Value]
    sums: list[list[ir.Value]]  # the indices at which it reads what it adds up

    def first(self, indices: Sequence[ir.Value]) -> int:
        """Return how many indices, from the first, are those of the loop."""
        pairs = enumerate(zip(indices, self.loop.indices))
        return next((k for k, (a, i) in pairs if a != i), min(len(indices), self.loop.rank))

    def is_row_by_row(self, depth: int) -> bool:
        """Return whether what it uses is of its row, or the same for all rows."""
        row = set(self.loop.indices[:depth])
        if self.sums and self.loop.rank > depth:
            return False
        if any(len(at) > 1 and self.first(at) < depth for at in self.sums):
            return False
        every = [at for places in self.uses.values() for at in places]
        return all(self.first(at) >= depth or not row.intersection(at) for at in every)

    def rows(self, depth: int) -> dict[ir.Value, int | None]:
        """The arrays of which it uses rows, and the bytes of a row, if they are known."""
        return {
            array: _row_bytes(array, depth)
            for array, places in self.uses.items()
            if min(map(len, places)) > depth and all(self.first(at) >= depth for at in places)
        }


class _Group(msgspec.Struct):
    """Loops to be joined along their first `depth` axes."""

    loops: list[_RowLoop]
    depth: int


def _row_bytes(array: ir.Value, depth: int) -> int | None:
    extents = field.array_of(array.type)[1][depth:]
    element = field.element_type(array.type)
    if min(extents) < 0 or not isinstance(element, ir.FloatType | ir.IntegerType):
        return None
    return prod(extents) * max(1, element.width // 8)


def _groups(function: ir.Operation) -> Iterator[_Group]:
    group: _Group | None = None
    for op in block_operations(entry_of(function)):
        row_loop = _row_loop(op) if is_parallel(op) else None
        larger = None if group is None or row_loop is None else _extend_group(group, row_loop)
        if larger is None and group is not None and (is_parallel(op) or not _may_be_passed(op)):
            if len(group.loops) > 1:
                yield group
            group = None
        if larger is not None:
            group = larger
        elif row_loop is not None:
            group = _Group([row_loop], row_loop.loop.rank)


def _may_be_passed(op: ir.Operation) -> bool:
    """Return whether an op between two loops can stand before both."""
    return not op.regions and not field.is_access(op) and op.name.startswith(_PURE)


def _row_loop(op: ir.Operation) -> _RowLoop | None:
    loop = Parallel(op)
    inner = list(operations(op))
    loops = [inner_op for inner_op in inner if is_for(inner_op)]
    said = [*choices_of(op, loop.rank), *map(choice_of, loops)]
    if any(inner_op != AxisChoice(inner_op.name) for inner_op in said):
        return None
    # how a sum rounds is not settled yet: most may be taken in any order
    if not all(are_vector_sums(inner_op, lambda step: True) for inner_op in loops):
        return None
    if op.results or any(not inner_op.name.startswith(_INSIDE) for inner_op in inner):
        return None
    if any(constant_integer(low) != 0 for low in loop.lower):
        return None
    if any(constant_integer(step) != 1 for step in loop.steps):
        return None
    row_loop = _RowLoop(loop, {}, set(), [])
    for access, _, indices in accesses(op):
        array = field.split_access(access)[0]
        if is_defined_in(array, op):
            return None
        row_loop.uses.setdefault(array, []).append(indices)
        if field.is_write(access):
            row_loop.written.add(array)
        if _is_added_up(access, op):
            row_loop.sums.append(indices)
    return row_loop


def _is_added_up(access: ir.Operation, loop: ir.Operation) -> bool:
    """Return whether a loop around an access, inside another, carries something."""
    return any(is_for(owner) and owner.results for owner in ancestors(access, loop))


def _extend_group(group: _Group, other: _RowLoop) -> _Group | None:
    """A group with one loop more; None if that cannot be, or gains nothing."""
    loops = [*group.loops, other]
    depth = min(other_loop.loop.rank for other_loop in loops)
    for other_loop in loops:
        same = zip(other_loop.loop.upper, other.loop.upper)
        depth = next((k for k, (a, c) in enumerate(same) if a != c and k < depth), depth)
    for earlier in group.loops:
        for array in earlier.uses.keys() & other.uses.keys():
            if array in earlier.written or array in other.written:
                for other_loop in (earlier, other):
                    depth = min(depth, *(other_loop.first(at) for at in other_loop.uses[array]))
    if depth == 0 or not all(other_loop.is_row_by_row(depth) for other_loop in loops):
        return None
    rows: dict[ir.Value, int | None] = {}
    for other_loop in group.loops:
        rows |= other_loop.rows(depth)
    new = other.rows(depth)
    sizes = list((rows | new).values())
    if not rows.keys() & new.keys() or None in sizes:
        return None
    return _Group(loops, depth) if sum(size or 0 for size in sizes) <= LARGEST else None


def _join(group: _Group) -> Parallel:
    """One loop in the place of those of a group."""
    first, depth = group.loops[0].loop, group.depth
    _move_up(first.op, group.loops[-1].loop.op)
    with before(first.op):
        joined = b.parallel_loop(first.lower[:depth], first.upper[:depth], first.steps[:depth])
    set_choices(joined.op, choices_of(first.op, first.rank)[:depth])
    for row_loop in group.loops:
        values: dict[ir.Value, ir.Value] = dict(zip(row_loop.loop.indices, joined.indices))
        _append(row_loop.loop, depth, joined.body, values)
        copy_remarks(row_loop.loop.op, [joined.op])
        row_loop.loop.op.erase()
    with at_end(joined.body, joined.op.location):
        b.end_parallel()
    remark(joined.op, f"{len(group.loops)} loops go through its rows together")
    return joined


def _move_up(first: ir.Operation, last: ir.Operation) -> None:
    """Let what stands between two loops stand before both."""
    ops = block_operations(first.block)
    for op in ops[ops.index(first) + 1 : ops.index(last)]:
        if not is_parallel(op):
            op.move_before(first)


def _append(loop: Parallel, depth: int, block: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
    """Append what a loop does for one row to a block."""
    axes = zip(loop.indices, loop.lower, loop.upper, loop.steps)
    blocks: list[ir.Block] = []
    for index, low, high, step in list(axes)[depth:]:
        with at_end(block, loop.op.location):
            inner = b.for_loop(low, high, step)
        inner.op.attributes[ANY_ORDER] = ir.UnitAttr.get()
        values[index] = inner.induction
        block = inner.body
        blocks.append(block)
    for op in block_operations(loop.body)[:-1]:
        with at_end(block, op.location):
            clone(op, values)
    for body in blocks:
        with at_end(body, loop.op.location):
            b.yield_()


def _keep_a_row(array: ir.Value, joined: Parallel, depth: int) -> None:
    """Keep a row of an array that only one loop uses in memory of that loop, or in a register."""
    users = users_of(array)
    if not users or not all(field.is_access(op) and is_inside(op, joined.op) for op in users):
        return
    places = [field.split_access(op)[1] for op in users]
    if any(at[:depth] != joined.indices for at in places):
        return
    extents = field.array_of(array.type)[1]
    axes = [axis for axis in range(depth, len(extents)) if extents[axis] != 1]
    stores = [op for op in users if field.is_write(op)]
    if not axes and len(stores) == 1 and stores[0].block == joined.body:
        _keep_a_number(stores[0], users)
        return
    type_ = field.array_type(field.element_type(array.type), [extents[axis] for axis in axes])
    with at_start(joined.body, joined.op.location):
        row = field.alloca(type_, is_set=True)
    for op, at in zip(users, places):
        value = list(op.operands)[: -len(at) - 1]
        types, attributes = [result.type for result in op.results], attributes_of(op)
        with before(op):
            new = ir.Operation.create(
                op.name, types, [*value, row, *(at[a] for a in axes)], attributes
            )
        replace(op, new.results)


def _keep_a_number(store: ir.Operation, users: Sequence[ir.Operation]) -> None:
    for op in users:
        if op != store:
            replace(op, [store.operands[0]])
    store.erase()
