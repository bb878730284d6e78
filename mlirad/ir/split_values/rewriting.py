"""The rewriting of functions whose values become several scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlirad.bindings import ir
from mlirad.ir.ops import Builtin, Func
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.split_values.carrying import ENDS, HOLDERS, carry_scalars, pass_scalars
from mlirad.ir.split_values.scalars import EndRule, Kind, Rule, Scalars, SplitValues
from mlirad.ir.split_values.signatures import (
    call_with_scalars,
    function_types,
    is_split,
    privatize_callees,
    require_body,
    return_scalars,
    split_signature,
)
from mlirad.ir.walk import before, block_operations, functions


class Splitting:
    """A splitting of values: a rule for each op that takes or returns them.

    `wrong` says what is wrong with a type, or nothing; ops of `dialect` have rules in any case,
    `other_rule` is asked for what the table does not have, `ends` are ends of blocks.
    """

    def __init__(
        self,
        name: str,
        kind: Kind,
        rules: Mapping[str, Rule],
        wrong: Callable[[ir.Type], str],
        *,
        dialect: str,
        other_rule: Callable[[ir.Operation], Rule | None] = lambda op: None,
        ends: Mapping[str, EndRule] | None = None,
    ) -> None:
        self.name, self.kind, self.wrong, self.dialect = name, kind, wrong, f"{dialect}."
        self.rules = {**rules, Func.CALL: call_with_scalars}
        self.other_rule = other_rule
        self.ends = {**dict.fromkeys(ENDS, pass_scalars), **(ends or {})}

    def rewrite(self, module: ir.Operation) -> None:
        """Split the values of all functions of a module."""
        for inner in block_operations(module.regions[0].blocks[0]):
            if inner.name == Builtin.MODULE:
                self.rewrite(inner)
            elif inner.name == Func.FUNC and is_split(inner, self.kind):
                require_body(inner, self.kind)
        by_name = {symbol_of(function): function for function in functions(module)}
        privatize_callees(by_name, self.kind)
        for function in by_name.values():
            _FunctionSplitting(self).rewrite(function)

    def rule_of(self, op: ir.Operation) -> Rule:
        """Return the rule of an op."""
        rule = self.rules.get(op.name) or self.other_rule(op)
        if rule is None:
            refuse(op, f"'{op.name}' of {self.kind.noun}, which {self.name} does not know")
        return rule


class _FunctionSplitting:
    """The rewriting of a function."""

    def __init__(self, splitting: Splitting) -> None:
        self.splitting = splitting
        self.split = SplitValues(splitting.kind)
        self.results: Scalars = []  # the memory of those that are split
        self.types: dict[ir.Type, str] = {}  # with what is wrong with them

    def rewrite(self, function: ir.Operation) -> None:
        """Split the values of a function."""
        inner = [a for block in function.regions[0].blocks for a in block.arguments]
        results = function_types(function)[1]
        self._check_types(function, [*(argument.type for argument in inner), *results])
        if is_split(function, self.splitting.kind):
            with function.location:
                self.results = split_signature(function, self.split)
        self._visit_regions(function)
        self.split.erase_replaced()

    def _visit_regions(self, op: ir.Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in block_operations(block):
                    self._visit(inner)

    def _visit(self, op: ir.Operation) -> None:
        inner = [a for region in op.regions for block in region.blocks for a in block.arguments]
        types = [value.type for value in (*op.operands, *op.results, *inner)]
        has_split = self._check_types(op, types) or op.name.startswith(self.splitting.dialect)
        if not has_split:
            self._visit_regions(op)
            return
        if len(op.block.region.blocks) > 1:
            refuse(op, f"'{op.name}' among several blocks: run lift-cf-to-scf first")
        with before(op):
            self._replace(op)

    def _replace(self, op: ir.Operation) -> None:
        split, ends = self.split, self.splitting.ends
        if op.name in HOLDERS:
            self._visit_regions(carry_scalars(op, split))
        elif op.name == Func.RETURN:
            return_scalars(op, split, self.results)
        elif op.name in ends:
            self._visit_regions(ends[op.name](op, split))
        else:
            split.bind_all(list(op.results), self.splitting.rule_of(op)(op, split))
        split.replaced.append(op)

    def _check_types(self, op: ir.Operation, types: list[ir.Type]) -> bool:
        """Refuse types that cannot be split; return whether a value is to be."""
        has_split = False
        for type_ in types:
            if type_ not in self.types:
                self.types[type_] = self.splitting.wrong(type_)
            if self.types[type_]:
                refuse(op, f"'{op.name}' of {type_}, expected {self.types[type_]}")
            has_split |= self.splitting.kind.is_split(type_)
        return has_split
