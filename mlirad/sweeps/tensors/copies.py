"""Copies of the region of a definition, at a point whose indices are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.structured import If, is_branch
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import captured_values, defining_op
from mlirad.sweeps.tensors.definition import Definition


class At:
    """Values of a definition at one point, made where they are asked for."""

    def __init__(self, points: Mapping[ir.Value, ir.Value], copier: Copier | None = None) -> None:
        self.copier = Copier(points) if copier is None else copier
        self._known = set(points)

    def value(self, value: ir.Value) -> ir.Value:
        """A value of the definition, made of what it depends on."""
        op = defining_op(value)
        if value in self._known or op is None or not _is_inside_definition(op):
            return self.copier.value(value)
        used = [*op.operands, *(captured_values(op) if len(op.regions) else [])]
        for operand in used:
            self.value(operand)
        self.copier.op(op)
        self._known.update(op.results)
        return self.copier.value(value)

    def prepare(self, definition: Definition) -> None:
        """Make what the innermost block of a definition takes from those around it."""
        for op in definition.reductions[-1:]:
            for value in captured_values(op):
                self.value(value)

    def flag(self, value: ir.Value, expected: bool) -> ir.Value:
        """Return whether a condition is as it is to be."""
        flag = self.value(value)
        return flag if expected else b.xori(flag, b.number(1, flag.type))

    def branches_taken(self, op: ir.Operation) -> ir.Value | None:
        """Return whether the branches around an op are taken; None where there are none."""
        flags = []
        inner, outer = op, op.parent
        while outer is not None and is_branch(outer.operation):
            branch = outer.operation
            flags.append(self.flag(branch.operands[0], inner.block == If(branch).then))
            inner, outer = branch, branch.parent
        return b.all_of(flags[::-1]) if flags else None

    def guarded_values(self, holds: ir.Value | None, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Values that may only be made where a condition holds; else 0."""
        if holds is None:
            return [self.value(value) for value in values]
        branch = b.if_else(holds, [value.type for value in values])
        with ir.InsertionPoint(branch.then):
            b.yield_([self.value(value) for value in values])
        with ir.InsertionPoint(branch.otherwise):
            b.yield_([b.number(0, value.type) for value in values])
        return list(branch.results)


def _is_inside_definition(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None:
        if te.defines_tensor(parent.operation):
            return True
        parent = parent.operation.parent
    return False
