"""Copying what stands in the region of a definition of a tensor to another place, with other
values for some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.marks.axis_choices import choices_of, set_choices
from mlirad.ir.structured import If, is_branch
from mlirad.ir.walk import before, block_operations, has_uses, owner_operation

# the results of an op in the place that it is copied to; None to copy it as it is
Hook = Callable[[ir.Operation, "Copier"], Sequence[ir.Value] | None]


class Copier:
    """Copies ops to the insertion point; `of` are the values that stand for those copied from."""

    def __init__(self, of: Mapping[ir.Value, ir.Value], hook: Hook | None = None) -> None:
        self._of = dict(of)
        self._hook = hook

    def __setitem__(self, value: ir.Value, stands_for: ir.Value) -> None:
        self._of[value] = stands_for

    def value(self, value: ir.Value) -> ir.Value:
        """Return the copy of a value; the value itself if it is defined outside of what is
        copied."""
        return self._of.get(value, value)

    def values(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the copies of some values."""
        return [self.value(value) for value in values]

    def block(self, block: ir.Block) -> list[ir.Value]:
        """Copy a block without its end; what that gives."""
        *ops, last = block_operations(block)
        for op in ops:
            self.op(op)
        return self.values(list(last.operands))

    def combine(
        self, combiner: ir.Block, a: Sequence[ir.Value], c: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Return the combination of two groups of values."""
        self._of.update(zip(combiner.arguments, [*a, *c]))
        return self.block(combiner)

    def op(self, op: ir.Operation) -> None:
        """Copy one op, with what it holds."""
        copies = None if self._hook is None else self._hook(op, self)
        if copies is None:
            with op.location:
                copies = self._copy_op(op)
        for old, new in zip(op.results, copies):
            self._of[old] = new

    def _copy_op(self, op: ir.Operation) -> Sequence[ir.Value]:
        operands = self.values(list(op.operands))
        if is_branch(op):
            return self._branch(op, operands[0])
        if te.is_reduce(op):
            return self._reduction(op)
        assert not len(op.regions), f"{op.name} within a definition"
        attributes = {name: op.attributes[name] for name in op.attributes}
        types = [result.type for result in op.results]
        return list(ir.Operation.create(op.name, types, operands, attributes).results)

    def _branch(self, op: ir.Operation, condition: ir.Value) -> Sequence[ir.Value]:
        branch = b.if_else(condition, [result.type for result in op.results])
        for target, block in ((branch.then, If(op).then), (branch.otherwise, If(op).otherwise)):
            with ir.InsertionPoint(target):
                b.yield_(self.block(block))
        return branch.results

    def _reduction(self, op: ir.Operation) -> Sequence[ir.Value]:
        body = te.body_of(op)
        bounds = [(self.value(low), self.value(high)) for low, high in te.bounds_of(op)]
        kind = te.reduce_kind(op)

        def fill(indices: list[ir.Value]) -> list[ir.Value]:
            for argument, index in zip(body.arguments, indices):
                self._of[argument] = index
            return self.block(body)

        def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> list[ir.Value]:
            return self.combine(op.regions[1].blocks[0], a, c)

        with_combiner = None if kind.is_position else combine
        reduction = te.reduce(kind, bounds, self.values(te.initial_of(op)), fill, with_combiner)
        set_choices(owner_operation(reduction[0]), choices_of(op, len(bounds)))
        return reduction


def erase_unused(definition: ir.Operation) -> None:
    """Erase what a definition computes and does not use: all of it is pure."""
    for region in definition.regions:
        for block in region.blocks:
            *ops, _ = block_operations(block)
            for op in reversed(ops):
                used = [has_uses(result) for result in op.results]
                if not any(used):
                    op.erase()
                else:
                    erase_unused(_narrow(op, used) if is_branch(op) and not all(used) else op)


def _narrow(op: ir.Operation, used: Sequence[bool]) -> ir.Operation:
    """A branch that gives only what is used of it, in its place."""
    positions = [k for k, is_used in enumerate(used) if is_used]
    with before(op), op.location:
        narrow = b.if_else(op.operands[0], [op.results[k].type for k in positions])
    for target, block in ((narrow.then, If(op).then), (narrow.otherwise, If(op).otherwise)):
        *ops, last = block_operations(block)
        results = list(last.operands)
        for inner in ops:
            target.append(inner)
        with ir.InsertionPoint(target), last.location:
            b.yield_([results[k] for k in positions])
    for k, result in zip(positions, narrow.results):
        op.results[k].replace_all_uses_with(result)
    op.erase()
    return narrow.op
