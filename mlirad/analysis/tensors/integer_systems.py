"""The integer points of a box at which linear sums have given values: the domain of a gather.

The adjoint of a read `A[f(i)]` at j is a sum over `{i : f(i) = j}`. Column operations bring the
system to Hermite form `H y = j - c` with `i = U y` and U unimodular (Cohen, A Course in
Computational Algebraic Number Theory, 1993, 2.4): some y follow from j, or a division leaves a
rest and there is no point; the others are free. The box bounds them, and Fourier-Motzkin
elimination orders the bounds so that they become loops (Schrijver, Theory of Linear and Integer
Programming, 1986, 12.2).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from math import gcd
from typing import Generic, TypeVar

import msgspec

from mlirad.analysis.linear import Intervals, Linear, extent_of, number, unknown

Name = TypeVar("Name", bound=Hashable)
Matrix = list[list[int]]


class Fraction(msgspec.Struct, Generic[Name], frozen=True):
    """A sum divided by a positive number, rounded as the bound or the value demands."""

    sum: Linear[Name]
    divisor: int = 1


class Quotient(msgspec.Struct, Generic[Name], frozen=True):
    """A name for a sum divided by a number, which has to leave no remainder."""

    name: Name
    value: Fraction[Name]


class Range(msgspec.Struct, Generic[Name], frozen=True):
    """A free index: at least all of some fractions rounded up, at most all of others rounded
    down."""

    name: Name
    least: tuple[Fraction[Name], ...]
    most: tuple[Fraction[Name], ...]


class Solution(msgspec.Struct, Generic[Name]):
    """All points: for each choice of the free indices one, where the conditions hold."""

    quotients: list[Quotient[Name]] = msgspec.field(default_factory=list)
    zero: list[Linear[Name]] = msgspec.field(default_factory=list)  # sums that have to be 0
    not_negative: list[Linear[Name]] = msgspec.field(
        default_factory=list
    )  # sums that have to be >= 0
    free: list[Range[Name]] = msgspec.field(default_factory=list)
    point: dict[Name, Linear[Name]] = msgspec.field(default_factory=dict)


class Bound(msgspec.Struct, Generic[Name], frozen=True):
    """`factors · free + remainder >= 0`."""

    factors: tuple[int, ...]
    remainder: Linear[Name]


class Equation(msgspec.Struct, Generic[Name], frozen=True):
    """A sum of indices and parameters that is to be equal to a sum of parameters."""

    left: Linear[Name]
    right: Linear[Name]


class Names(Generic[Name]):
    """Names for quotients and for free indices."""

    def quotient(self, number: int) -> Name:
        """For what a division gives."""
        raise NotImplementedError

    def free(self, number: int) -> Name:
        """For a free index."""
        raise NotImplementedError


def solve(
    equations: Sequence[Equation[Name]],
    indices: Sequence[Name],
    constraints: Sequence[Linear[Name]],
    names: Names[Name],
    spans: Intervals[Name] | None = None,
) -> Solution[Name]:
    """The points that fulfil equations, and at which sums are not negative.

    What equations and constraints name beside the indices are parameters; `spans` has the least
    and the greatest value of some. Indices that come first are determined before others,
    which are left free.
    """
    matrix = [[equation.left.coefficient(name) for name in indices] for equation in equations]
    remainders = [_remaining_sum(equation, indices) for equation in equations]
    reduced, unimodular, pivots = hermite(matrix, len(indices))
    solution: Solution[Name] = Solution()
    solved = _solve_pivots(reduced, pivots, remainders, names, solution)
    frees = [names.free(k) for k in range(len(indices) - len(solved))]
    rows = dict(zip(indices, unimodular))
    for name, row in rows.items():
        fixed, factors = _combine(row[: len(solved)], solved), row[len(solved) :]
        solution.point[name] = fixed.plus(_combine(factors, [unknown(free) for free in frees]))
    bounds = [_bound(equation, rows, solved) for equation in constraints]
    _Order(frees, spans or {}).write(bounds, solution)
    return solution


def within(name: Name, low: Linear[Name], high: Linear[Name]) -> list[Linear[Name]]:
    """Constraints of an index: from the first on, and before the last."""
    return [unknown(name).plus(low, -1), high.plus(unknown(name), -1).plus(number(-1))]


def _bound(
    constraint: Linear[Name], rows: dict[Name, list[int]], solved: Sequence[Linear[Name]]
) -> Bound[Name]:
    """A constraint on the free indices."""
    count = len(solved)
    factors = [0] * (len(next(iter(rows.values()))) - count) if rows else []
    remainder = constraint
    for name, row in rows.items():
        factor = constraint.coefficient(name)
        if factor:
            remainder = remainder.without(name).plus(_combine(row[:count], solved), factor)
            factors = [
                factor_of_free + factor * free for factor_of_free, free in zip(factors, row[count:])
            ]
    return Bound(tuple(factors), remainder)


def _remaining_sum(equation: Equation[Name], indices: Sequence[Name]) -> Linear[Name]:
    """Return the sum that the indices have to contribute to an equation."""
    remainder = equation.right.plus(equation.left, -1)
    for name in indices:
        remainder = remainder.without(name)
    return remainder


def _combine(factors: Sequence[int], sums: Sequence[Linear[Name]]) -> Linear[Name]:
    total: Linear[Name] = number(0)
    for factor, sum_ in zip(factors, sums):
        total = total.plus(sum_, factor)
    return total


def _solve_pivots(
    reduced: Matrix,
    pivots: dict[int, int],
    remainders: Sequence[Linear[Name]],
    names: Names[Name],
    solution: Solution[Name],
) -> list[Linear[Name]]:
    """The y that follow from the equations, one a pivot; what else they demand are conditions."""
    solved: list[Linear[Name]] = []
    for position, row in enumerate(reduced):
        remainder = remainders[position].plus(_combine(row, solved), -1)
        if position not in pivots:
            if remainder.terms or remainder.constant:
                solution.zero.append(remainder)
            continue
        pivot = row[pivots[position]]
        if pivot < 0:
            remainder, pivot = remainder.times(-1), -pivot
        if pivot == 1:
            solved.append(remainder)
            continue
        name = names.quotient(len(solution.quotients))
        solution.quotients.append(Quotient(name, Fraction(remainder, pivot)))
        solved.append(unknown(name))
    return solved


def hermite(matrix: Matrix, columns: int) -> tuple[Matrix, Matrix, dict[int, int]]:
    """`H = matrix U`, lower trapezoidal, U unimodular, and the pivot's column of each row that has
    one."""
    reduced = [list(row) for row in matrix]
    unimodular = [[int(row == column) for column in range(columns)] for row in range(columns)]
    rows, pivots = reduced + unimodular, dict[int, int]()
    for position, row in enumerate(reduced):
        first = len(pivots)
        other_columns = [column for column in range(first, columns) if row[column]]
        while len(other_columns) > 1:  # Euclid's algorithm
            least = min(other_columns, key=lambda column: abs(row[column]))
            for column in other_columns:
                if column != least:
                    _subtract(rows, column, least, row[column] // row[least])
            other_columns = [column for column in range(first, columns) if row[column]]
        if other_columns:
            for line in rows:
                line.insert(first, line.pop(other_columns[0]))
            pivots[position] = first
    return reduced, unimodular, pivots


def _subtract(rows: Matrix, column: int, other: int, factor: int) -> None:
    for row in rows:
        row[column] -= factor * row[other]


def hulls(solution: Solution[Name], spans: Intervals[Name]) -> dict[Name, tuple[int, int]] | None:
    """The least and the greatest value of each free index, whatever the parameters are; None where
    that is not known."""
    intervals = dict(spans)
    for free in solution.free:
        least = [extent_of(end.sum, intervals) for end in free.least]
        most = [extent_of(end.sum, intervals) for end in free.most]
        if None in least or None in most:
            return None
        lows = [-(-e[0] // f.divisor) for e, f in zip(least, free.least) if e is not None]
        highs = [e[1] // f.divisor for e, f in zip(most, free.most) if e is not None]
        intervals[free.name] = max(lows), min(highs)
    return intervals


def widen_indices(
    solution: Solution[Name], hull: Intervals[Name], trips: int
) -> tuple[list[Range[Name]], list[Linear[Name]]]:
    """The free indices, of which those with at most so many values go through all that they ever
    have; and sums that are negative at points that are then none of the solution's."""
    ranges, beyond = [], []
    for free in solution.free:
        low, high = hull[free.name]
        bounds = [*free.least, *free.most]
        if high - low >= trips or not any(end.sum.terms for end in bounds):
            ranges.append(free)
            continue
        first: Linear[Name] = number(low)
        last: Linear[Name] = number(high)
        ranges.append(Range(free.name, (Fraction(first),), (Fraction(last),)))
        value = unknown(free.name)
        sums = [value.times(end.divisor).plus(end.sum, -1) for end in free.least]
        sums += [end.sum.plus(value, -end.divisor) for end in free.most]
        beyond += [total for total in sums if (extent_of(total, hull) or (-1, 0))[0] < 0]
    return ranges, beyond


class _Order(Generic[Name]):
    """Bounds of each free index by those outside of it, and conditions without free indices."""

    def __init__(self, frees: list[Name], spans: Intervals[Name]) -> None:
        self.frees, self.spans = frees, spans

    def write(self, bounds: list[Bound[Name]], solution: Solution[Name]) -> None:
        """Add them to a solution."""
        levels = [self._without_redundant(bounds)]
        for variable in reversed(range(len(self.frees))):
            levels.insert(0, self._without_redundant(_eliminate(levels[0], variable)))
        # those that elimination made hold wherever the ranges of free indices are not empty
        alone = {_smallest(bound).remainder for bound in bounds if not any(bound.factors)}
        solution.not_negative += [
            bound.remainder for bound in levels[0] if bound.remainder in alone
        ]
        for variable in range(len(self.frees)):
            solution.free.append(self._range(variable, levels[variable + 1]))

    def _range(self, variable: int, bounds: Sequence[Bound[Name]]) -> Range[Name]:
        least, most = [], []
        for bound in bounds:
            factor = bound.factors[variable]
            outer = _combine(bound.factors[:variable], [unknown(free) for free in self.frees])
            remainder = bound.remainder.plus(outer)
            if factor > 0:
                least.append(Fraction(remainder.times(-1), factor))
            elif factor < 0:
                most.append(Fraction(remainder, -factor))
        return Range(self.frees[variable], tuple(least), tuple(most))

    def _without_redundant(self, bounds: Sequence[Bound[Name]]) -> list[Bound[Name]]:
        """Without those that always hold, and those that another one implies."""
        needed_bounds: list[Bound[Name]] = []
        for bound in map(_smallest, bounds):
            if not any(bound.factors) and self._is_never_negative(bound.remainder):
                continue
            if any(self._implies(other, bound) for other in needed_bounds):
                continue
            needed_bounds = [other for other in needed_bounds if not self._implies(bound, other)]
            needed_bounds.append(bound)
        return needed_bounds

    def _implies(self, left: Bound[Name], right: Bound[Name]) -> bool:
        """Return whether a bound holds wherever another one of the same form does."""
        return left.factors == right.factors and self._is_never_negative(
            right.remainder.plus(left.remainder, -1)
        )

    def _is_never_negative(self, total: Linear[Name]) -> bool:
        extent = extent_of(total, self.spans)
        return extent is not None and extent[0] >= 0


def _eliminate(bounds: list[Bound[Name]], variable: int) -> list[Bound[Name]]:
    """Return the bounds of the other variables."""
    unaffected = [bound for bound in bounds if not bound.factors[variable]]
    lower = [bound for bound in bounds if bound.factors[variable] > 0]
    upper = [bound for bound in bounds if bound.factors[variable] < 0]
    for low, high in product(lower, upper):
        a, b = low.factors[variable], -high.factors[variable]
        factors = tuple(b * x + a * y for x, y in zip(low.factors, high.factors))
        unaffected.append(Bound(factors, low.remainder.times(b).plus(high.remainder, a)))
    return unaffected


def _smallest(bound: Bound[Name]) -> Bound[Name]:
    """A bound, divided by what its factors share: the points are integers."""
    shared = gcd(*bound.factors, *(factor for _, factor in bound.remainder.terms))
    if shared <= 1:
        return bound
    terms = frozenset((name, factor // shared) for name, factor in bound.remainder.terms)
    factors = tuple(factor // shared for factor in bound.factors)
    return Bound(factors, Linear(terms, bound.remainder.constant // shared))
