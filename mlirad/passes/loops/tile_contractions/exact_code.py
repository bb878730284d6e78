"""A function that computes parts of a contraction number by number, with all guards and limits: for
tiles in which leaving these out may have changed a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from mlirad.analysis.contractions.contraction import Index
from mlirad.analysis.contractions.places import Places, Point
from mlirad.analysis.contractions.term_code import add_term, limit_tests
from mlirad.analysis.contractions.tile_plan import Plan
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rare import RARE
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import at_end, enclosing, entry_of, function_of, functions

Ends = Mapping[ir.Value, tuple[ir.Value, ir.Value]]  # where each index begins and ends


class ExactCode:
    """The function of a plan, made when it is first called."""

    def __init__(self, plan: Plan) -> None:
        self.nest, self.name = plan.nest, ""
        moving = [index for index in self.nest.indices if self.nest.output.moves_with(index.value)]
        outer = [index for index in moving if index is not plan.column]
        sums = [index for index in self.nest.indices if index not in moving]
        self.indices = [*outer, *sums, plan.column]  # the innermost loop can be made of vectors

    def call(self, ends: Ends) -> None:
        """Compute the points of a box."""
        bounds = [end for index in self.indices for end in ends[index.value]]
        operands = [*bounds, *self.captured]
        if not self.name:
            self._make(operands)
        b.call(self.name, operands)

    @cached_property
    def captured(self) -> list[ir.Value]:
        """Return what the function takes besides the ends: arrays, and what names elements."""
        terms, indices = self.nest.terms, {index.value for index in self.indices}
        elements = [self.nest.output, *(element for term in terms for element in term.elements)]
        forms = [form for element in elements for form in element.forms]
        for limits in (limits for term in terms for limits in term.limits.values()):
            forms += [*limits.lower, *limits.upper]
        names = {name for form in forms for name in form.names} - indices
        arrays = dict.fromkeys(element.memref for element in elements)
        ordered_names = list(names)
        if len(names) > 1:  # names take as long as the function is
            ordered_names.sort(key=lambda name: name.get_name(use_local_scope=True))
        return [*arrays, *ordered_names]

    def _make(self, operands: Sequence[ir.Value]) -> None:
        caller, location = function_of(self.nest.loop), self.nest.loop.location
        prefix = f"{symbol_of(caller)}.exact"
        symbols = map(symbol_of, functions(enclosing(caller)))
        number = sum(symbol.startswith(prefix) for symbol in symbols)
        self.name = f"{prefix}{number}"
        types = [value.type for value in operands]
        with ir.InsertionPoint(caller), location:
            function = b.function(self.name, types, (), {RARE: ir.UnitAttr.get()})
        arguments = list(entry_of(function).arguments)
        count = 2 * len(self.indices)
        ends = {
            index.value: (arguments[2 * number], arguments[2 * number + 1])
            for number, index in enumerate(self.indices)
        }
        with at_end(entry_of(function), location):
            self._loops(self.indices, ends, dict(zip(self.captured, arguments[count:])))
            b.return_()

    def _loops(self, indices: Sequence[Index], ends: Ends, point: Point) -> None:
        if not indices:
            self._add_terms(point)
            return
        first, *inner_indices = indices
        loop = b.for_loop(*ends[first.value], b.index(1))
        with at_end(loop.body, self.nest.loop.location):
            self._loops(inner_indices, ends, {**point, first.value: loop.induction})
            b.yield_()

    def _add_terms(self, point: Point) -> None:
        places = Places([index.value for index in self.indices])
        for term in self.nest.terms:
            tests = limit_tests(term.limits, point, places)
            if not tests:
                add_term(term, self.nest.output, places, point)
                continue
            branch = b.if_else(b.all_of(tests), [], with_else=False)
            with ir.InsertionPoint(branch.then):
                add_term(term, self.nest.output, places, point)
                b.yield_()
