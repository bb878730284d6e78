"""Tangents of the scalars in the region of a definition.

Where a derivative may be infinite, a factor that is 0 makes the product 0: what has no weight, or
does not move, gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.finite import has_pole
from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiDerivativeError
from mlirad.ir import build as b
from mlirad.ir.elementary.terms import Term, Values, emit, leaves, product_with_zeros
from mlirad.ir.ops import Arith
from mlirad.ir.reports.location import source_location
from mlirad.ir.structured import If, is_branch
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, constant_float, owner_operation

# the tangent of what a read gives, at the insertion point; None where it is 0
Seed = Callable[[ir.Operation, Copier], ir.Value | None]


class Tangents:
    """Copies a region, and makes the tangents of its values beside them."""

    def __init__(self, copier: Copier, seed: Seed) -> None:
        self.copier, self._seed = copier, seed
        self._of: dict[ir.Value, ir.Value] = {}
        self._unbounded: set[ir.Value] = set()  # the values whose tangents may be infinite

    def block(self, block: ir.Block) -> tuple[list[ir.Value], list[ir.Value | None]]:
        """Copy a block without its end; what that gives, and the tangents of it."""
        *ops, last = block_operations(block)
        self.ops(ops)
        results = list(last.operands)
        return self.copier.values(results), [self._of.get(value) for value in results]

    def ops(self, ops: Sequence[ir.Operation]) -> None:
        """Copy some ops."""
        for op in ops:
            with op.location:
                self._op(op)

    def set(self, value: ir.Value, tangent: ir.Value) -> None:
        """Let a value that is not copied have a tangent."""
        self._of[value] = tangent

    def tangent_of(self, value: ir.Value) -> ir.Value | None:
        """The tangent of a value that was copied; None where it is 0."""
        return self._of.get(value)

    def _op(self, op: ir.Operation) -> None:
        if is_branch(op):
            self._branch(op)
            return
        self.copier.op(op)
        if te.is_read(op):
            tangent = self._seed(op, self.copier)
            if tangent is not None:
                self._of[op.results[0]] = tangent
            return
        if len(op.results) == 1 and b.is_float(op.results[0].type):
            tangent = self._by_rule(op)
            if tangent is not None:
                self._of[op.results[0]] = tangent

    def _by_rule(self, op: ir.Operation) -> ir.Value | None:
        active = [k for k, operand in enumerate(op.operands) if operand in self._of]
        if not active:
            return None
        if op.name not in RULES:
            raise TaichiDerivativeError(
                f"'{op.name}' has no derivative rule", source_location(op.location)
            )
        total: ir.Value | None = None
        for position in active:
            term = RULES[op.name][position]
            if term is not None:
                total = sum_of(total, self._term(op, term, op.operands[position]))
        return total

    def _term(self, op: ir.Operation, term: Term, operand: ir.Value) -> ir.Value:
        """The part of a result's tangent that one operand's makes."""
        tangent, type_ = self._of[operand], op.results[0].type

        def emit_term(tangent: ir.Value) -> ir.Value:
            values = Values(
                tangent,
                lambda k: self.copier.value(op.operands[k]),
                lambda: self.copier.value(op.results[0]),
                type_,
                type_,
            )
            return emit(term, values)

        if not has_pole(op.name) and operand not in self._unbounded:
            return emit_term(tangent)
        self._unbounded.add(op.results[0])
        if next(leaves(term), None) is None or constant_float(tangent) == 1.0:
            return emit_term(tangent)
        return product_with_zeros(tangent, emit_term(b.number(1.0, type_)))

    def weigh(self, value: ir.Value, tangent: ir.Value, weight: ir.Value) -> ir.Value:
        """The tangent of a value that was copied, times an adjoint."""
        if value in self._unbounded:
            return product_with_zeros(weight, tangent)
        return product_of([weight, tangent])

    def _branch(self, op: ir.Operation) -> None:
        """A branch that gives values, and the tangents of those that have one in either way."""
        condition = self.copier.value(op.operands[0])
        types = [result.type for result in op.results]
        probe = b.if_else(condition, types)
        ways = []
        for target, block in ((probe.then, If(op).then), (probe.otherwise, If(op).otherwise)):
            with ir.InsertionPoint(target):
                ways.append(self.block(block))
        active = [k for k in range(len(types)) if any(way[1][k] is not None for way in ways)]
        branch = b.if_else(condition, types + [types[k] for k in active])
        for (values, tangents), source, target in zip(
            ways, (probe.then, probe.otherwise), (branch.then, branch.otherwise)
        ):
            for inner in block_operations(source):
                target.append(inner)
            with ir.InsertionPoint(target):
                slopes = [
                    b.number(0.0, types[k]) if (tangent := tangents[k]) is None else tangent
                    for k in active
                ]
                b.yield_([*values, *slopes])
        probe.op.erase()
        for k, (old, new) in enumerate(zip(op.results, branch.results)):
            self.copier[old] = new
            terminators = [block_operations(block)[-1] for block in (If(op).then, If(op).otherwise)]
            if any(end.operands[k] in self._unbounded for end in terminators):
                self._unbounded.add(old)
            if k in active:
                self._of[old] = branch.results[len(types) + active.index(k)]


def sum_of(left: ir.Value | None, right: ir.Value) -> ir.Value:
    """A sum, of which the first part may be none."""
    return right if left is None else _make_marked(Arith.ADDF, left, right)


def product_of(factors: Sequence[ir.Value]) -> ir.Value:
    """A product of numbers, of which there is one at least."""
    total = factors[0]
    for factor in factors[1:]:
        total = _make_marked(Arith.MULF, total, factor)
    return total


def _make_marked(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    result = b.make(name, right.type, [left, right])
    te.mark_derivative(owner_operation(result))
    return result
