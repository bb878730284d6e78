"""The code of one term of a contraction at one point, as scalars."""

from __future__ import annotations

from mlirad.analysis.contractions.contraction import Term
from mlirad.analysis.contractions.elements import Element
from mlirad.analysis.contractions.limits import LimitsOf
from mlirad.analysis.contractions.places import Places, Point
from mlirad.analysis.trips import span_of
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import loose_mark


def add_term(term: Term, output: Element, places: Places, point: Point) -> None:
    """Add a term to an element of the output. A point may also say what stands for arrays."""

    def memory(element: Element) -> ir.Value:
        return point.get(element.memref, element.memref)

    def read(element: Element) -> ir.Value:
        return b.read(memory(element), places.indices_of(element, point, {}))

    factors = [read(term.left), read(term.right)]
    value = b.mulf(*factors, **loose_mark())
    zero = b.number(0.0, value.type)
    for factor, is_guard in zip(factors, term.guards):
        if is_guard:
            value = b.select(b.compare_floats(b.OEQ, factor, zero), zero, value)
    if term.witness is not None:
        tangent, other = map(read, term.witness)
        product = b.mulf(tangent, other, **loose_mark())
        is_nan = b.compare_floats(b.UNO, product, product)
        test = b.andi(is_nan, b.compare_floats(b.OEQ, tangent, zero))
        value = b.select(test, zero, value)
    place = places.indices_of(output, point, {})
    old = b.read(memory(output), place)
    total = (b.subf if term.is_negative else b.addf)(old, value, **loose_mark())
    b.write(total, memory(output), place)


def limit_tests(limits: LimitsOf, point: Point, places: Places) -> list[ir.Value]:
    """Return tests that a point is within limits."""
    tests = []
    for index, index_limits in limits.items():
        span = span_of(index)
        low, high = (None, None) if span is None else (span.low, span.high)
        for form in index_limits.lower:
            if form.terms or low is None or form.constant > low:
                tests.append(b.compare(b.SGE, point[index], places.sum(form, point, {})))
        for form in index_limits.upper:
            if form.terms or high is None or form.constant < high:
                tests.append(b.compare(b.SLT, point[index], places.sum(form, point, {})))
    return tests
