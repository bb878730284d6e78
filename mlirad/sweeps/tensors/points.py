"""Indices that are known as sums, as values at the insertion point; loops over those that are
free."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.linear import Linear
from mlirad.analysis.tensors.integer_systems import Fraction, Range, Solution
from mlirad.analysis.tensors.te_accesses import Form, New
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer

Name = ir.Value | New
Environment = dict[Name, ir.Value]


def emit_sum(form: Form, environment: Environment) -> ir.Value:
    """A sum. Names that are not in the environment are values that stand for themselves."""
    total: ir.Value | None = None
    for name, factor in sorted(form.terms, key=lambda term: -term[1]):
        value = environment.get(name)
        if value is None:
            assert not isinstance(name, New), name
            value = name
        if factor == -1 and total is not None:
            total = b.sub(total, value)
            continue
        product = value if factor == 1 else b.mul(value, b.index(factor))
        total = product if total is None else b.add(total, product)
    if total is None:
        return b.index(form.constant)
    return b.add(total, b.index(form.constant)) if form.constant else total


def conditions(solution: Solution[Name], environment: Environment) -> list[ir.Value]:
    """Emit what is determined by divisions; whether they leave nothing, and what else has to
    hold."""
    tests = []
    for quotient in solution.quotients:
        whole = emit_sum(quotient.value.sum, environment)
        divisor = b.index(quotient.value.divisor)
        value = b.floordivsi(whole, divisor)
        environment[quotient.name] = value
        tests.append(b.compare(b.EQ, b.mul(value, divisor), whole))
    zero = b.index(0)
    tests += [b.compare(b.EQ, emit_sum(form, environment), zero) for form in solution.zero]
    tests += [b.compare(b.SGE, emit_sum(form, environment), zero) for form in solution.not_negative]
    return tests


def sum_over(
    ranges: Sequence[Range[Name]],
    environment: Environment,
    holds: ir.Value | None,
    zero: Callable[[], ir.Value],
    point: Callable[[], ir.Value],
) -> ir.Value:
    """The sum over free indices, the first one outside, where a condition holds."""
    if not ranges:
        return value_or_zero(holds, zero, point)
    count = _together(ranges)
    box = [bounds(index_range, environment) for index_range in ranges[:count]]
    if holds is not None:
        low, high = box[0]
        box[0] = low, b.select(holds, high, low)

    def fill(indices: list[ir.Value]) -> list[ir.Value]:
        environment.update(zip([index_range.name for index_range in ranges], indices))
        return [sum_over(ranges[count:], environment, None, zero, point)]

    def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
        return [b.addf(a[0], c[0])]

    return te.reduce(te.ReduceKind.SUM, box, [zero()], fill, combine)[0]


def _together(ranges: Sequence[Range[Name]]) -> int:
    """Return how many free indices, from the first on, have bounds that do not depend on one
    another."""
    names: set[Name] = set()
    for count, index_range in enumerate(ranges):
        if any(names & set(end.sum.names) for end in (*index_range.least, *index_range.most)):
            return count
        names.add(index_range.name)
    return len(ranges)


def value_or_zero(
    holds: ir.Value | None, zero: Callable[[], ir.Value], point: Callable[[], ir.Value]
) -> ir.Value:
    """A value where a condition holds, else 0."""
    if holds is None:
        return point()
    probe = zero()
    branch = b.if_else(holds, [probe.type])
    with ir.InsertionPoint(branch.then):
        b.yield_([point()])
    with ir.InsertionPoint(branch.otherwise):
        b.yield_([zero()])
    return branch.results[0]


def bounds(index_range: Range[Name], environment: Environment) -> tuple[ir.Value, ir.Value]:
    """The first value of a free index, and the one behind the last."""
    least = [_round_end(end, environment, Arith.CEILDIVSI, 0) for end in index_range.least]
    most = [_round_end(end, environment, Arith.FLOORDIVSI, end.divisor) for end in index_range.most]
    return _extreme(Arith.MAXSI, least), _extreme(Arith.MINSI, most)


def _round_end(end: Fraction[Name], environment: Environment, name: str, more: int) -> ir.Value:
    total = Linear(end.sum.terms, end.sum.constant + more)
    value = emit_sum(total, environment)
    if end.divisor == 1:
        return value
    constant, divisor = constant_integer(value), end.divisor
    if constant is not None:
        return b.index(constant // divisor if name == Arith.FLOORDIVSI else -(-constant // divisor))
    return b.make(name, value.type, [value, b.index(divisor)])


def _extreme(name: str, values: Sequence[ir.Value]) -> ir.Value:
    total = values[0]
    for value in values[1:]:
        total = b.make(name, total.type, [total, value])
    return total
