"""The derivative and the transposed derivative of an op, in the regions of its `grad.custom`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.dialect.grad import yield_
from mlirad.ir import build as b
from mlirad.ir.custom import JVP, VJP
from mlirad.ir.elementary.terms import Values, convert_float, emit, guard_term, t, x
from mlirad.ir.foreign_ops.code import Application, Code, Rule, Terms
from mlirad.passes.functions.lower_foreign_ops.code_emission import Source, check_block, values_of
from mlirad.passes.functions.lower_foreign_ops.code_functions import CodeFunctions
from mlirad.passes.functions.lower_foreign_ops.custom_op import CustomFunction
from mlirad.passes.functions.lower_foreign_ops.transposition import Transposition

# What the derivative of a result in an operand makes of a tangent or an adjoint.
Share: TypeAlias = Callable[[int, int, ir.Value], ir.Value | None]

Combination: TypeAlias = Callable[[Share, Sequence[ir.Value]], list[ir.Value]]

_PRODUCT = guard_term(t * x, again=True)


class Derivatives:
    """The regions for derivatives of a custom op, to be filled by its rule."""

    def __init__(self, custom: CustomFunction, rule: Rule, functions: CodeFunctions) -> None:
        self.custom, self.rule, self.functions = custom, rule, functions
        self.jvp = custom.open_block(JVP, len(custom.float_types))
        self.vjp = custom.open_block(VJP, len(custom.result_types))

    def fill(self) -> None:
        """Compute tangents and adjoints."""
        if self.rule.linear is not None:
            self._fill_by_maps(self.rule.linear)
            return
        if self.rule.terms is not None:
            self._check_terms(self.rule.terms)
        self._fill_by_shares(self.jvp, self.custom.float_types, self._tangents)
        self._fill_by_shares(self.vjp, self.custom.result_types, self._adjoints)

    def _fill_by_shares(
        self, block: ir.Block, types: Sequence[ir.Type], combine: Combination
    ) -> None:
        """Fill a block; `types` are those of what comes along."""
        with ir.InsertionPoint(block), self.custom.op.location:
            application = self.custom.application(block, sees_results=True)
            along = self.custom.along(block, types)
            yield_(self.custom.widened(combine(self._share(application, block), along)))

    def _source(self, code: Code, kind: str = "derivative") -> Source:
        return Source(code, kind, self.rule.place, self.custom.source)

    def _check_terms(self, terms: Terms) -> None:
        source, op = self._source(terms), self.custom.source
        if len(op.results) != 1:
            source.refuse("is a tuple of terms, which is for ops of one result: register partials")
        if len(terms) != len(op.operands):
            source.refuse(f"has {len(terms)} terms for {len(op.operands)} operands")
        for k in self.custom.integers:
            if terms[k] is not None:
                source.refuse(f"has a term for operand {k}, an integer: expected None")
        if len({*map(str, self.custom.float_types), str(op.results[0].type)}) > 1:
            source.refuse("is a tuple of terms, which is for floats of one type")

    def _share(self, application: Application, block: ir.Block) -> Share:
        if self.rule.terms is not None:
            return self._share_of_terms(self.rule.terms, application)
        assert self.rule.partials is not None
        types = [type_ for type_ in self.custom.result_types for _ in self.custom.floats]
        source = self._source(self.rule.partials)
        partials = values_of(source, self.functions, application, None, types)
        check_block(source, block, partials)
        count = len(self.custom.floats)

        def share(result: int, position: int, along: ir.Value) -> ir.Value:
            partial = partials[result * count + position]
            tangent = convert_float(along, partial.type)
            values = _leaves(tangent, lambda _: partial, lambda: partial)
            return emit(_PRODUCT, values)

        return share

    def _share_of_terms(self, terms: Terms, application: Application) -> Share:
        def share(result: int, position: int, along: ir.Value) -> ir.Value | None:
            term = terms[self.custom.floats[position]]
            if term is None:
                return None
            values = _leaves(
                along, application.operands.__getitem__, lambda: application.results[0]
            )
            return emit(term if term is t else guard_term(term, again=True), values)

        return share

    def _tangents(self, share: Share, tangents: Sequence[ir.Value]) -> list[ir.Value]:
        return [
            _sum([share(j, k, tangent) for k, tangent in enumerate(tangents)], type_)
            for j, type_ in enumerate(self.custom.result_types)
        ]

    def _adjoints(self, share: Share, adjoints: Sequence[ir.Value]) -> list[ir.Value]:
        return [
            _sum([share(j, k, adjoint) for j, adjoint in enumerate(adjoints)], type_)
            for k, type_ in enumerate(self.custom.float_types)
        ]

    def _fill_by_maps(self, linear: Code) -> None:
        source, (floats, results) = self._source(linear), self._types()
        self._fill_by_map(source, self.jvp, floats, results)
        if self.rule.transposed is not None:
            transposed = self._source(self.rule.transposed, "transposed derivative")
            self._fill_by_map(transposed, self.vjp, results, floats)
            return
        with ir.InsertionPoint(self.vjp), self.custom.op.location:
            values = [*self.vjp.arguments]
            first = len(self.custom.op.operands) + len(results)
            transposition = Transposition(source, self.jvp, first)
            yield_(transposition.emit(values[:first], values[first:]))

    def _types(self) -> tuple[list[ir.Type], list[ir.Type]]:
        return self.custom.float_types, self.custom.result_types

    def _fill_by_map(
        self, source: Source, block: ir.Block, takes: Sequence[ir.Type], gives: Sequence[ir.Type]
    ) -> None:
        with ir.InsertionPoint(block), self.custom.op.location:
            application = self.custom.application(block, sees_results=True)
            along = self.custom.along(block, takes)
            values = values_of(source, self.functions, application, along, gives)
            check_block(source, block, values)
            yield_(self.custom.widened(values))


def _leaves(
    along: ir.Value,
    operand: Callable[[int], ir.Value],
    result: Callable[[], ir.Value],
) -> Values:
    return Values(along, operand, result, along.type, along.type)


def _sum(shares: Sequence[ir.Value | None], type_: ir.Type) -> ir.Value:
    """Return the sum of shares in a type; those that are None are 0."""
    total: ir.Value | None = None
    for share in shares:
        if share is not None:
            converted = convert_float(share, type_)
            total = converted if total is None else b.addf(total, converted)
    return b.number(0.0, type_) if total is None else total
