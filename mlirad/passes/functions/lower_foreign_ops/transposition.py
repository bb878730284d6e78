"""Linear maps transposed: adjoints of what they take, from adjoints of what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.terms import (
    Operand,
    Term,
    Values,
    convert_float,
    emit,
    guard_term,
    leaves,
)
from mlirad.ir.ops import Arith
from mlirad.ir.walk import block_operations, captured_values, is_zero, operations
from mlirad.passes.functions.lower_foreign_ops.code_emission import Source

_SUMS = {Arith.ADDF, Arith.SUBF, Arith.SELECT}
_PRODUCTS = {Arith.MULF, Arith.DIVF}


class Transposition:
    """A block that computes tangents from other tangents, and from values that it also takes.

    What does not depend on tangents is computed anew, as it stands; what does is arithmetic, run
    through backwards.
    """

    def __init__(self, source: Source, block: ir.Block, count: int) -> None:
        self.source, self.block, self.count = source, block, count
        self.linear = [*block.arguments][count:]
        self.images: dict[ir.Value, ir.Value] = {}
        self.adjoints: dict[ir.Value, ir.Value] = {}

    def emit(self, values: Sequence[ir.Value], adjoints: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the adjoints of the tangents, of values for the block's first arguments and
        adjoints of what it yields; ops are made at the insertion point."""
        tangents = list(self.linear)
        self.images = dict(zip([*self.block.arguments][: self.count], values))
        *body, last = block_operations(self.block)
        backwards = [op for op in body if self._is_linear(op) or self._copy(op)]
        for value, adjoint in zip(last.operands, adjoints):
            if value in self.linear:
                self._add(value, adjoint)
            elif not is_zero(value):
                self._refuse("gives a value that no tangent enters")
        for op in reversed(backwards):
            self._step(op)
        return [self.adjoints[t] if t in self.adjoints else b.number(0.0, t.type) for t in tangents]

    def _is_linear(self, op: ir.Operation) -> bool:
        captured = captured_values(op) if len(op.regions) else []
        if not any(v in self.linear for v in (*op.operands, *captured)):
            return False
        if op.name not in RULES or captured:
            self._refuse(f"makes '{op.name}' of a tangent")
        if op.name in _SUMS:
            constants = [v for v in op.operands if v not in self.linear and b.is_float(v.type)]
            if not all(map(is_zero, constants)):
                self._refuse("adds a value that no tangent enters")
        self.linear.extend(op.results)
        return True

    def _copy(self, op: ir.Operation) -> bool:
        """Compute anew what no tangent enters; it is not run through backwards."""
        copy = op.clone().operation
        for inner in (copy, *operations(copy)):
            for position, operand in enumerate(inner.operands):
                if operand in self.images:
                    inner.operands[position] = self.images[operand]
        self.images.update(zip(op.results, copy.results))
        return False

    def _step(self, op: ir.Operation) -> None:
        """Give the operands of an op their shares of the adjoint of its result."""
        adjoint = self.adjoints.pop(op.results[0], None)
        if adjoint is None:
            return
        for position, operand in enumerate(op.operands):
            if operand not in self.linear:
                continue
            term = RULES[op.name][position]
            if term is None or self._reads_tangents(op, term):
                self._refuse(f"makes '{op.name}' of a tangent, which is not linear")
            if op.name in _PRODUCTS:
                term = guard_term(term, again=True)
            value = emit(term, self._values(op, adjoint, operand.type))
            self._add(operand, convert_float(value, operand.type))

    def _reads_tangents(self, op: ir.Operation, term: Term) -> bool:
        """Return whether a derivative depends on what it is taken in: the op is not linear."""
        return any(
            not isinstance(leaf, Operand) or op.operands[leaf.position] in self.linear
            for leaf in leaves(term)
        )

    def _values(self, op: ir.Operation, adjoint: ir.Value, target: ir.Type) -> Values:
        def refuse() -> ir.Value:
            raise AssertionError("a linear map reads its own result")

        return Values(adjoint, lambda k: self.images[op.operands[k]], refuse, adjoint.type, target)

    def _add(self, value: ir.Value, adjoint: ir.Value) -> None:
        old = self.adjoints.get(value)
        self.adjoints[value] = adjoint if old is None else b.addf(old, adjoint)

    def _refuse(self, problem: str) -> NoReturn:
        self.source.refuse(
            f"{problem}, so its transpose is not derived: register both, "
            "derivative(name, linear, transposed)"
        )
