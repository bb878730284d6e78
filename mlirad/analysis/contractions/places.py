"""The places of elements at points of a nest that is built again: sums of its indices, as
values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.analysis.contractions.elements import Element
from mlirad.analysis.linear import Linear
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.walk import constant_integer

Point = Mapping[ir.Value, ir.Value]  # where each index of a nest stands
Offset = Mapping[ir.Value, int]  # from there


class Places:
    """The places of elements, each sum made once in a block."""

    def __init__(self, order: Sequence[ir.Value]) -> None:
        self.order = {index: number for number, index in enumerate(order)}
        self.known: dict[object, ir.Value] = {}

    def indices_of(self, element: Element, point: Point, offset: Offset) -> list[ir.Value]:
        """The indices of an element at a point, made at the insertion point."""
        return [self.sum(form, point, offset) for form in element.forms]

    def sum(self, form: Linear[ir.Value], point: Point, offset: Offset) -> ir.Value:
        """A sum at a point, made at the insertion point."""
        constant = form.constant
        terms: list[tuple[ir.Value, int]] = []
        for name, factor in self._in_order(form):
            value = point.get(name, name)
            constant_value = constant_integer(value)
            constant += factor * (offset.get(name, 0) + (constant_value or 0))
            if constant_value is None:
                terms.append((value, factor))
        key = (ir.InsertionPoint.current.block, tuple(terms), constant)
        if key not in self.known:
            self.known[key] = _total(terms, constant)
        return self.known[key]

    def _in_order(self, form: Linear[ir.Value]) -> list[tuple[ir.Value, int]]:
        """The terms of a sum as they stand in any run of the compiler: those from outside of the
        nest first, by names, which take as long as the function is."""
        ordered_terms = [term for term in form.terms if term[0] in self.order]
        outer_terms = [term for term in form.terms if term[0] not in self.order]
        if len(outer_terms) > 1:
            outer_terms.sort(key=lambda term: term[0].get_name(use_local_scope=True))
        return [*outer_terms, *sorted(ordered_terms, key=lambda term: self.order[term[0]])]


def _total(terms: Sequence[tuple[ir.Value, int]], constant: int) -> ir.Value:
    total: ir.Value | None = None
    for value, factor in terms:
        if not isinstance(value.type, ir.IndexType):
            value = b.to_index(value)
        term = value if factor == 1 else b.mul(value, b.index(factor))
        total = term if total is None else b.add(total, term)
    if total is None:
        return b.index(constant)
    return total if constant == 0 else b.add(total, b.index(constant))
