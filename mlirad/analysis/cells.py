"""Elements of arrays that a parallel loop only updates, by one kind: sums, which may be made in
parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mlirad.analysis.linear import Linear, linear_form
from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.dialect.field import atomic_kind, is_atomic
from mlirad.ir.walk import Array, accesses, has_uses, is_defined_in

Group = list[tuple[ir.Operation, list[ir.Value]]]  # accesses of one array, with their indices


class Cell(msgspec.Struct, frozen=True):
    """The updates of what is one element in an iteration, and what of the loop its indices are made
    of."""

    updates: list[ir.Operation]
    names: frozenset[ir.Value]


def accesses_by_array(loop: ir.Operation) -> dict[Array, Group]:
    """The accesses of a loop, array by array."""
    groups: dict[Array, Group] = {}
    for op, root, indices in accesses(loop):
        groups.setdefault(root, []).append((op, indices))
    return groups


def summed_cells(meetings: Meetings, group: Group) -> Iterator[Cell]:
    """The cells of an array, made outside of the loop, that it touches in no other way than by
    updates of one kind that nobody sees the order of; accesses of other indices never meet them."""
    places: dict[tuple[Linear[ir.Value], ...], Group] = {}
    for op, indices in group:
        places.setdefault(tuple(linear_form(i) for i in indices), []).append((op, indices))
    for forms, members in places.items():
        cell = meetings.residues(members[0][1])
        other_ops = (other[0][1] for place, other in places.items() if place != forms)
        if _is_one_sum(members) and all(
            meetings.never(cell, meetings.residues(other)) for other in other_ops
        ):
            names = {leaf for form in forms for leaf in form.names}
            inside = frozenset(leaf for leaf in names if is_defined_in(leaf, meetings.loop))
            yield Cell([op for op, _ in members], inside)


def _is_one_sum(group: Group) -> bool:
    kinds = {atomic_kind(op) if is_atomic(op) else None for op, _ in group}
    return (
        len(kinds) == 1
        and not kinds & {None, "exchange"}
        and not any(has_uses(op.results[0]) for op, _ in group)
    )


def private_updates(
    meetings: Meetings, shared: Sequence[ir.Value], group: Group
) -> list[ir.Operation]:
    """The updates of an array whose element no access reaches in an iteration with another value
    of the shared indices."""
    residues = {op: meetings.residues(indices) for op, indices in group}
    places = list(dict.fromkeys(residues.values()))
    private = {
        place
        for place in {residues[op] for op in [op for op, _ in group if is_atomic(op)]}
        if all(meetings.are_apart(place, other, iv) for iv in shared for other in places)
    }
    return [op for op, _ in group if is_atomic(op) and residues[op] in private]
