"""Sums and products of sparse matrices. An entry that is stored stays so where it becomes 0, else
its adjoint would be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.linalg.pattern import Pattern, Values, pattern_of
from mlirad.linalg.steps import step
from mlirad.linalg.stored_entries import StoredEntries, from_pattern, wide_matrix


def add_scaled(matrix: StoredEntries, other: StoredEntries, factor: float) -> StoredEntries:
    """`one + factor * other`."""
    left, right = matrix.pattern, other.pattern
    union = Pattern(matrix.shape, np.union1d(left.keys, right.keys))

    def values() -> Values:
        entries = np.zeros(len(union.keys))
        entries[union.positions(left.keys)] += matrix.values
        entries[union.positions(right.keys)] += factor * other.values
        return entries

    def spread(adjoint: Values) -> None:
        matrix.add_adjoint(adjoint[union.positions(left.keys)])
        other.add_adjoint(factor * adjoint[union.positions(right.keys)])

    return _record("SparseMatrix.add", union, values, spread, matrix, other)


def scale(matrix: StoredEntries, factor: float) -> StoredEntries:
    """Every entry times a number."""

    def spread(adjoint: Values) -> None:
        matrix.add_adjoint(factor * adjoint)

    return _record(
        "SparseMatrix.mul", matrix.pattern, lambda: factor * matrix.values, spread, matrix
    )


def entrywise(matrix: StoredEntries, other: StoredEntries) -> StoredEntries:
    """The products of entries that both store."""
    common, left, right = np.intersect1d(
        matrix.pattern.keys, other.pattern.keys, assume_unique=True, return_indices=True
    )

    def spread(adjoint: Values) -> None:
        for target, at, partner in (
            (matrix, left, other.values[right]),
            (other, right, matrix.values[left]),
        ):
            amounts = np.zeros(len(target.pattern.keys))
            amounts[at] = adjoint * partner
            target.add_adjoint(amounts)

    pattern = Pattern(matrix.shape, common)
    values = matrix.values[left] * other.values[right]
    return _record("SparseMatrix.mul", pattern, lambda: values, spread, matrix, other)


def transpose(matrix: StoredEntries) -> StoredEntries:
    """Rows as columns."""
    pattern = matrix.pattern
    keys = pattern.rows * matrix.shape[1] + pattern.columns
    order = np.argsort(keys)

    def spread(adjoint: Values) -> None:
        amounts = np.empty_like(adjoint)
        amounts[order] = adjoint
        matrix.add_adjoint(amounts)

    turned = Pattern((matrix.shape[1], matrix.shape[0]), keys[order])
    return _record("SparseMatrix.transpose", turned, lambda: matrix.values[order], spread, matrix)


def product(matrix: StoredEntries, other: StoredEntries) -> StoredEntries:
    """The matrix product."""
    touched = _ones(matrix) @ _ones(other)  # where sums may cancel
    touched.sort_indices()
    pattern = pattern_of(touched)

    def values() -> Values:
        entries = matrix.wide @ other.wide
        entries.sort_indices()
        return pattern.sample(pattern_of(entries), entries.data)

    def spread(adjoint: Values) -> None:
        above = wide_matrix(pattern, adjoint)
        for target, amounts in ((matrix, above @ other.wide.T), (other, matrix.wide.T @ above)):
            amounts = amounts.tocsc()
            amounts.sort_indices()
            target.add_adjoint(target.pattern.sample(pattern_of(amounts), amounts.data))

    return _record("SparseMatrix.matmul", pattern, values, spread, matrix, other)


def _ones(matrix: StoredEntries) -> Any:
    return wide_matrix(matrix.pattern, np.ones(len(matrix.pattern.keys)))


def _record(
    name: str,
    pattern: Pattern,
    values: Callable[[], Values],
    spread: Callable[[Values], None],
    *operands: StoredEntries,
) -> StoredEntries:
    """A matrix, on a tape with what brings its adjoints to its operands."""
    carries = any(operand.carries for operand in operands)
    result = from_pattern(pattern, values(), operands[0].dtype, carries)
    if not carries:
        return result

    def reverse() -> None:
        adjoint = result.take_adjoint()
        if adjoint is not None:
            spread(adjoint)

    return step(name, lambda: result, reverse)
