"""Bundles of shifted updates that one loop does: those of one element, and those of other arrays
that are updated in the same way."""

from __future__ import annotations

from typing import TypeAlias

from mlirad.analysis.linear import linear_form
from mlirad.dialect.field import split_access
from mlirad.ir.walk import array_root
from mlirad.passes.loops.split_scatter_loops.shifted_updates import (
    LONGEST_BODY,
    ShiftedUpdates,
    Update,
)

Bundle: TypeAlias = list[list[Update]]  # of each array the updates of an element


def bundles_of(updates: ShiftedUpdates, moved: list[Update]) -> list[Bundle]:
    """The updates by the element that they reach, with those that reach other arrays in the same
    way: an adjoint's tangent is made of much that the adjoint is made of."""
    groups: dict[object, list[Update]] = {}
    for update in moved:
        groups.setdefault(_target(updates, update), []).append(update)
    bundles: list[Bundle] = []
    last: dict[object, Bundle] = {}
    for group in groups.values():
        way = tuple((*update.offsets, *update.guards) for update in group)
        bundle = last.get(way)
        if bundle is None or size_of(updates, [*bundle, group]) > LONGEST_BODY:
            bundle = last[way] = []
            bundles.append(bundle)
        bundle.append(group)
    return bundles


def size_of(updates: ShiftedUpdates, bundle: Bundle) -> int:
    """Return how many operations the updates are made of, each for itself."""
    return sum(len(updates.slice(update)) for group in bundle for update in group)


def _target(updates: ShiftedUpdates, update: Update) -> object:
    """Return a key that updates of one element have in common: the array, and the indices without
    their offsets."""
    array, indices = split_access(update.op)
    forms = [linear_form(i) for i in indices]
    return array_root(array), tuple(
        form.terms if any(form.coefficient(iv) for iv in updates.ivs) else form for form in forms
    )
