"""Sums and products of sparse matrices. An entry that is stored stays so where it becomes 0, else
its adjoint would be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.linalg.pattern import Pattern, Values, pattern_of
from mlirad.linalg.steps import step
from mlirad.linalg.stored_entries import StoredEntries, from_pattern, wide_matrix


def combined(one: StoredEntries, other: StoredEntries, factor: float) -> StoredEntries:
    """`one + factor * other`."""
    left, right = one.pattern, other.pattern
    union = Pattern(one.shape, np.union1d(left.keys, right.keys))

    def values() -> Values:
        found = np.zeros(len(union.keys))
        found[union.positions(left.keys)] += one.values
        found[union.positions(right.keys)] += factor * other.values
        return found

    def spread(adjoint: Values) -> None:
        one.add_adjoint(adjoint[union.positions(left.keys)])
        other.add_adjoint(factor * adjoint[union.positions(right.keys)])

    return _made("SparseMatrix.add", union, values, spread, one, other)


def scaled(one: StoredEntries, factor: float) -> StoredEntries:
    """Every entry times a number."""

    def spread(adjoint: Values) -> None:
        one.add_adjoint(factor * adjoint)

    return _made("SparseMatrix.mul", one.pattern, lambda: factor * one.values, spread, one)


def entrywise(one: StoredEntries, other: StoredEntries) -> StoredEntries:
    """The products of entries that both store."""
    both, left, right = np.intersect1d(
        one.pattern.keys, other.pattern.keys, assume_unique=True, return_indices=True
    )

    def spread(adjoint: Values) -> None:
        for target, at, partner in (
            (one, left, other.values[right]),
            (other, right, one.values[left]),
        ):
            amounts = np.zeros(len(target.pattern.keys))
            amounts[at] = adjoint * partner
            target.add_adjoint(amounts)

    pattern = Pattern(one.shape, both)
    values = one.values[left] * other.values[right]
    return _made("SparseMatrix.mul", pattern, lambda: values, spread, one, other)


def transposed(one: StoredEntries) -> StoredEntries:
    """Rows as columns."""
    pattern = one.pattern
    keys = pattern.rows * one.shape[1] + pattern.columns
    order = np.argsort(keys)

    def spread(adjoint: Values) -> None:
        amounts = np.empty_like(adjoint)
        amounts[order] = adjoint
        one.add_adjoint(amounts)

    turned = Pattern((one.shape[1], one.shape[0]), keys[order])
    return _made("SparseMatrix.transpose", turned, lambda: one.values[order], spread, one)


def product(one: StoredEntries, other: StoredEntries) -> StoredEntries:
    """The matrix product."""
    touched = _ones(one) @ _ones(other)  # where sums may cancel
    touched.sort_indices()
    pattern = pattern_of(touched)

    def values() -> Values:
        found = one.wide @ other.wide
        found.sort_indices()
        return pattern.sampled(pattern_of(found), found.data)

    def spread(adjoint: Values) -> None:
        above = wide_matrix(pattern, adjoint)
        for target, part in ((one, above @ other.wide.T), (other, one.wide.T @ above)):
            part = part.tocsc()
            part.sort_indices()
            target.add_adjoint(target.pattern.sampled(pattern_of(part), part.data))

    return _made("SparseMatrix.matmul", pattern, values, spread, one, other)


def _ones(one: StoredEntries) -> Any:
    return wide_matrix(one.pattern, np.ones(len(one.pattern.keys)))


def _made(
    name: str,
    pattern: Pattern,
    values: Callable[[], Values],
    spread: Callable[[Values], None],
    *operands: StoredEntries,
) -> StoredEntries:
    """A matrix, on a tape with what brings its adjoints to its operands."""
    carries = any(one.carries for one in operands)
    made = from_pattern(pattern, values(), operands[0].dtype, carries)
    if not carries:
        return made

    def reverse() -> None:
        adjoint = made.take_adjoint()
        if adjoint is not None:
            spread(adjoint)

    return step(name, lambda: made, reverse)
