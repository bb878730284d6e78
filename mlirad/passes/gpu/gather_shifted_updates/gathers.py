"""The choice of updates of a parallel loop that the threads of their elements make.

These are updates of elements that iterations share, where all that is computed again costs less
than the atomics, nothing that they are computed by has changed when they are made in front of the
loop, and nothing else in the loop sees them.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from mlirad.analysis.meetings import Meetings, Residue
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_load
from mlirad.ir.structured import For, Parallel, is_for, is_while
from mlirad.ir.walk import Array, accesses, ancestors, enclosing, is_inside, operations
from mlirad.passes.gpu.gather_shifted_updates.kept_values import KeptValues
from mlirad.passes.gpu.gather_shifted_updates.operation_costs import ATOMIC, LOAD, cost_of
from mlirad.passes.gpu.gather_shifted_updates.shares import Shares, shares
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import (
    Cell,
    SolvedUpdates,
    Update,
    is_sum,
)

LONGEST = 2000  # operations that the updates of a loop are computed by again


class Group(NamedTuple):
    """Updates that the threads of elements make, and how these share out what an element gets
    updates from."""

    updates: list[Update]
    shared: list[Shares]


class Gathers:
    """The choice for one loop."""

    def __init__(self, loop: ir.Operation, meetings: Meetings) -> None:
        self.loop, self.meetings = loop, meetings
        self.indices = Parallel(loop).indices
        self.places: dict[Array, dict[ir.Operation, tuple[Residue, ...]]] = {}
        for op, root, indices in accesses(loop):
            self.places.setdefault(root, {})[op] = meetings.residues(indices)
        self._order = {op: number for number, op in enumerate(operations(loop))}
        self._lasting: dict[ir.Operation, bool] = {}

    def groups(self) -> list[Group]:
        """The updates that one loop over elements can make, for each such loop."""
        cells: dict[Cell, list[Update]] = {}
        for update in SolvedUpdates(self.loop, self.meetings).find():
            if self._is_free(update):
                cells.setdefault(update.cell, []).append(update)
        groups: dict[object, list[Update]] = {}
        unshared: list[list[Update]] = []
        for updates in cells.values():
            if any(self._is_shared(update) for update in updates):
                groups.setdefault(_box(updates[0]), []).extend(updates)
            else:
                unshared.append(updates)
        for updates in unshared:
            group = groups.get(_box(updates[0]), [])
            if _read_no_more(updates, group):
                group += updates
        candidates = [(group, shares(self.meetings, group)) for group in groups.values()]
        return [Group(group, shared) for group, shared in candidates if shared is not None]

    def _is_shared(self, update: Update) -> bool:
        """Return whether another iteration may reach the element."""
        places = self.places[update.cell.root]
        return not all(
            self.meetings.are_apart(places[update.op], other, iv)
            for iv in self.indices
            for other in dict.fromkeys(places.values())
        )

    def _is_free(self, update: Update) -> bool:
        """Return whether an update may be made in front of the loop: nothing else that it does asks
        for the element but other sums, and nothing it is computed by is written before it is
        read."""
        places = self.places[update.cell.root]
        if any(
            not (is_sum(op) or self.meetings.never(places[update.op], other))
            for op, other in places.items()
        ):
            return False
        reads = [inner for op in update.needed for inner in (op, *operations(op)) if is_load(inner)]
        return all(self._is_lasting(load) for load in reads)

    def _is_lasting(self, load: ir.Operation) -> bool:
        """Return whether what a load gives is what it would give in front of the loop."""
        if load not in self._lasting:
            group = next(group for group in self.places.values() if load in group)
            self._lasting[load] = all(
                is_load(op)
                or self.meetings.never(group[load], place)
                or (self._precedes(load, op) and self._meet_at_once(load, op))
                for op, place in group.items()
            )
        return self._lasting[load]

    def _precedes(self, load: ir.Operation, write: ir.Operation) -> bool:
        """Return whether, in an iteration of all loops around both, the load is done first, or only
        one of them."""
        above = enclosing(load)
        while not is_inside(write, above):
            load, above = above, enclosing(above)
        while enclosing(write) != above:
            write = enclosing(write)
        return self._order[load] < self._order[write] or load.block != write.block

    def _meet_at_once(self, load: ir.Operation, write: ir.Operation) -> bool:
        """Return whether a load and a write meet only within an iteration of all loops around
        both."""
        group = next(group for group in self.places.values() if load in group)
        variables: list[ir.Value] = list(self.indices)
        for owner in ancestors(load, self.loop):
            if is_inside(write, owner):
                if is_while(owner):
                    return False
                if is_for(owner):
                    variables.append(For(owner).induction)
        return all(self.meetings.are_apart(group[load], group[write], iv) for iv in variables)

    def pays(self, group: list[Update], kept_values: KeptValues | None = None) -> bool:
        """Return whether computing the updates again, except kept values, costs less than
        atomics."""
        without = set() if kept_values is None else kept_values.producers()
        cost, length = 0, 0
        for shift in shifts(group):
            staying = [loop.op for update in shift for loop in update.loops_in_place()]
            needed = {op for update in shift for op in update.needed} - without
            cost += sum(cost_of(op) * self._times(op, staying) for op in needed)
            cost += 0 if kept_values is None else LOAD * len(kept_values.values)
            length += len(needed)
        atomics = sum(
            self._times(update.op, [loop.op for loop in update.loops_in_place()])
            for update in group
            if self._is_shared(update)
        )
        return cost <= ATOMIC * atomics and length <= LONGEST

    def _times(self, op: ir.Operation, loops: list[ir.Operation]) -> int:
        """Return how often an operation runs for each run of the loops around these."""
        owners = [owner for owner in ancestors(op, self.loop) if owner in loops]
        return prod(spans(owner)[0].expected_trips for owner in owners)


def _box(update: Update) -> object:
    """Return what updates have in common whose elements one loop may go through."""
    extents = update.extents()
    return update.cell.variables, update.cell.root if None in extents else extents


def _read_no_more(updates: list[Update], group: list[Update]) -> bool:
    """Return whether the iterations that make some updates of a group read all that others are made
    of."""
    loads = {
        (frozenset(update.solutions.values()), op)
        for update in group
        for op in update.needed
        if is_load(op)
    }
    return all(
        (frozenset(update.solutions.values()), op) in loads
        for update in updates
        for op in update.needed
        if is_load(op)
    ) and not any(update.loops_in_place() or update.loops_in_front() for update in updates)


def shifts(group: list[Update]) -> list[list[Update]]:
    """The updates of a group that are made for an element by one iteration each."""
    updates_by_iteration: dict[object, list[Update]] = {}
    for update in group:
        front = tuple(loop.op for loop in update.loops_in_front())
        key = frozenset(update.solutions.values()), front
        updates_by_iteration.setdefault(key, []).append(update)
    return list(updates_by_iteration.values())
