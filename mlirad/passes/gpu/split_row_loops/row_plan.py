"""Plans for the threads of a block that run an iteration: each runs an op, or its share of the
trips of a serial loop, or the first thread runs the op alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from mlirad.analysis.contractions.thread_products import is_quiet
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_access, is_atomic, is_load, is_write, split_access
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir.box import bounds_of
from mlirad.ir.ops import Scf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK
from mlirad.ir.structured import For, Parallel, is_branch, is_for
from mlirad.ir.walk import (
    accesses,
    array_root,
    block_operations,
    defining_op,
    has_uses,
    is_defined_in,
    operations,
    overlap_key,
)
from mlirad.passes.gpu.split_row_loops.carried_values import Carried, Extreme, carried_values

_FEW = 16  # trips of a loop that each thread may run through
_MANY = 1 << 16  # iterations, whose threads fill a quarter of a large GPU


class SharedLoop(msgspec.Struct, frozen=True, eq=False):
    """A serial loop whose trips the threads of a block share; `trips` is None if their number is
    known at the launch only."""

    op: ir.Operation
    trips: int | None
    carried: list[Carried]

    @property
    def is_checked(self) -> bool:
        """Return whether what is no number could make a difference: the loop is then run as it
        is."""
        return any(isinstance(value, Extreme) for value in self.carried)


class Step(msgspec.Struct, frozen=True, eq=False):
    """An op of an iteration, the arrays that it reads and writes, and who runs it."""

    op: ir.Operation
    reads: frozenset[object]
    writes: frozenset[object]
    shared: SharedLoop | None = None

    @property
    def is_for_first(self) -> bool:
        """Return whether the first thread of a block runs it alone."""
        return self.shared is None and bool(self.writes)

    def meets(self, earlier: Sequence[Step]) -> bool:
        """Return whether threads have to wait between earlier steps and this one."""
        return any(
            self.writes & (step.reads | step.writes) or self.reads & step.writes
            for step in earlier
            if not (self.is_for_first and step.is_for_first)
        )


class RowPlan(msgspec.Struct, frozen=True, eq=False):
    """The steps of an iteration that a block runs, the ops behind them that the loop keeps, for one
    thread of another launch, and the values that these need."""

    steps: list[Step]
    kept_ops: list[ir.Operation]
    passed: list[ir.Value]


def row_plan(loop: ir.Operation, least: int) -> RowPlan | None:
    """The plan of a loop; None if threads may not share its iterations, or that does not pay.

    The loop keeps sums over all iterations: threads that run many iterations have them in
    registers.
    """
    ops = block_operations(Parallel(loop).body)[:-1]
    steps = [_step(op, loop, least) for op in ops]
    ends = [at + 1 for at, step in enumerate(steps) if step is not None and step.shared is not None]
    if not ends:
        return None
    are_kept = [step is None or _has_sums(step.op) for step in steps]
    count = ends[-1] if any(are_kept[ends[-1] :]) else len(ops)
    block_steps = [step for step in steps[:count] if step is not None]
    if any(are_kept[:count]):
        return None
    if not _goes_along_rows(loop, [s.shared for s in block_steps if s.shared is not None]):
        return None
    passed = list(_passed(ops[:count], ops[count:]))
    if not all(map(_fits, passed)):
        return None
    is_known = None not in [span.trips for span in spans(loop)]
    if ops[count:] and not (is_known and all(s.shared.trips for s in block_steps if s.shared)):
        return None
    return RowPlan(block_steps, ops[count:], passed)


def _has_sums(op: ir.Operation) -> bool:
    """Return whether an op, or one within it, updates a sum over all iterations."""
    return any(REDUCE_MARK in inner.attributes for inner in _all(op))


def _passed(ops: Sequence[ir.Operation], behind: Sequence[ir.Operation]) -> Iterator[ir.Value]:
    """The values of ops that those behind use, but for what they may compute themselves."""
    used = {value for op in behind for inner in _all(op) for value in inner.operands}
    all_ops, pure = set(ops), set[ir.Operation]()
    for op in ops:
        sources = {source for source in map(defining_op, op.operands) if source in all_ops}
        if is_pure(op) and sources <= pure:
            pure.add(op)
        else:
            yield from (result for result in op.results if result in used)


def _fits(value: ir.Value) -> bool:
    return str(value.type) in ELEMENT_SIZES


def _step(op: ir.Operation, loop: ir.Operation, least: int) -> Step | None:
    """Return what the threads of a block do of an op; None if they may not run it."""
    reads, writes = set[object](), set[object]()
    for inner in _all(op):
        if not _is_simple(inner):
            return None
        if is_access(inner):
            (reads if is_load(inner) else writes).add(
                overlap_key(array_root(split_access(inner)[0]))
            )
    shared = None
    if is_for(op):
        shared = _shared_loop(op, loop, least)
        trips = spans(op)[0].trips
        if shared is None and (trips is None or trips > _FEW):
            return None
    if shared is None and writes and any(map(has_uses, op.results)):
        return None
    return Step(op, frozenset(reads), frozenset(writes), shared)


def _all(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    yield from operations(op)


def _is_simple(op: ir.Operation) -> bool:
    """Return whether an op does nothing but compute, read, and write elements."""
    if is_atomic(op):
        return not has_uses(op.results[0])
    return (
        is_pure(op)
        or is_load(op)
        or is_write(op)
        or is_for(op)
        or is_branch(op)
        or op.name == Scf.YIELD
    )


def _shared_loop(op: ir.Operation, loop: ir.Operation, least: int) -> SharedLoop | None:
    """The loop with what it carries; None if it is short, or its trips depend on each other."""
    trips = spans(op)[0].trips
    if not may_be_long(op, loop, least):
        return None
    carried = carried_values(op)
    if carried is None or not _are_trips_apart(op):
        return None
    shared = SharedLoop(op, trips, carried)
    return None if shared.is_checked and not is_quiet(op) else shared


def may_be_long(op: ir.Operation, loop: ir.Operation, least: int) -> bool:
    """Return whether a serial loop has enough trips, or as many in all iterations of a parallel
    loop, which the launch knows."""
    trips = spans(op)[0].trips
    if trips is None:
        return not any(is_defined_in(bound, loop) for bound in bounds_of(op)[0])
    return trips >= least


def _are_trips_apart(op: ir.Operation) -> bool:
    """Return whether no trip of a serial loop touches what another one writes, but for updates that
    threads may make at the same time."""
    induction, meetings = For(op).induction, Meetings(op)
    by_key: dict[object, list[tuple[ir.Operation, list[ir.Value]]]] = {}
    for inner, root, indices in accesses(op):
        by_key.setdefault(overlap_key(root), []).append((inner, indices))
    for group in by_key.values():
        writes = [access for access in group if not is_load(access[0])]
        if all(is_atomic(inner) and PLAIN_MARK not in inner.attributes for inner, _ in group):
            continue
        for _, written in writes:
            residues = meetings.residues(written)
            for _, indices in group:
                if not meetings.are_apart(residues, meetings.residues(indices), induction):
                    return False
    return True


def _goes_along_rows(loop: ir.Operation, shared: Sequence[SharedLoop]) -> bool:
    """Return whether trips, more than iterations, reach elements that are side by side: an access
    counts for the last of its indices that changes. Elements that values name lie anywhere. Threads
    of many iterations read together the elements that all iterations read."""
    meetings = Meetings(loop)
    rows = [span.trips for span in spans(loop)]
    are_few = None not in rows and prod(n for n in rows if n is not None) < _MANY
    along, across = 0, 0
    for nest in shared:
        induction = For(nest.op).induction
        for _, _, indices in accesses(nest.op):
            names = [
                {name for name in meetings.form(index).names if meetings.changes(name)}
                for index in indices
            ]
            counted = [n for n in names if n and not all(_is_index_within(v, nest.op) for v in n)]
            if not counted:
                continue
            if induction not in counted[-1]:
                across += 1
            elif are_few or any(v != induction for n in counted for v in n):
                along += 1
    return along > across


def _is_index_within(value: ir.Value, nest: ir.Operation) -> bool:
    """Return whether a value is the index of a loop within another."""
    is_of_nest = isinstance(value, ir.BlockArgument) and value.owner == For(nest).body
    return isinstance(value, ir.BlockArgument) and not is_of_nest and is_defined_in(value, nest)
