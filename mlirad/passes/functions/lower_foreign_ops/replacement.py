"""An op replaced by a function with derivatives of its own, or by its lowering."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.grad import yield_
from mlirad.ir import build as b
from mlirad.ir.custom import JVP, PRIMAL, VJP
from mlirad.ir.foreign_ops.code import Application, Rule
from mlirad.ir.foreign_ops.registry import FOREIGN_RULES, LOWERINGS, is_registered
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import attributes_of, before, block_operations, has_uses, operations, replace
from mlirad.passes.functions.lower_foreign_ops.code_emission import (
    Source,
    check_block,
    values_of,
    verify,
)
from mlirad.passes.functions.lower_foreign_ops.code_functions import CodeFunctions
from mlirad.passes.functions.lower_foreign_ops.custom_op import (
    CustomFunction,
    create_custom,
    is_number,
    stopped,
)
from mlirad.passes.functions.lower_foreign_ops.derivatives import Derivatives
from mlirad.passes.functions.lower_foreign_ops.elementwise_ops import has_elements, spread

DEEPEST = 3  # so often an op can be differentiated if its rule is made of such ops again
VALUES = 1 << 30  # the depth of what is never differentiated


class Replacement:
    """Replaces ops; the `depth` of one is in how many derivatives of others it stands."""

    def __init__(self, functions: CodeFunctions) -> None:
        self.functions = functions
        self._lowered: list[str] = []  # whose lowerings are being made, outer before inner

    def replace(self, op: ir.Operation, depth: int = 0) -> None:
        """Replace an op that has a rule or a lowering."""
        if len(op.regions) or len(op.successors):
            holds = "regions" if len(op.regions) else "successors"
            refuse(op, f"'{op.name}' has {holds}: rules and lowerings are for ops without")
        rule, lowering = FOREIGN_RULES.get(op.name), LOWERINGS.get(op.name)
        if lowering is not None and lowering.is_elementwise and has_elements(op):
            for inner in spread(op):
                self.replace(inner, depth)
            return
        if rule is None or depth == VALUES:
            self._lower(op, depth)
            return
        _require_numbers(op)
        if rule.is_constant or not any(b.is_float(v.type) for v in op.results):
            self._stop(op, depth)
        elif any(b.is_float(v.type) for v in op.operands):
            self._differentiate(op, rule, depth)
        else:
            self._lower(op, depth)

    def _differentiate(self, op: ir.Operation, rule: Rule, depth: int) -> None:
        custom = CustomFunction(op)
        self._fill_primal(custom)
        if depth < DEEPEST:
            Derivatives(custom, rule, self.functions).fill()
            verify(custom.op, Source(None, "derivative", rule.place, op))
            for number in (VJP, JVP):
                self._replace_inside(custom.op.regions[number], depth + 1)
        custom.replace_floats()
        if any(map(has_uses, op.results)):
            self._stop(op, depth)  # its results that are no floats
        else:
            op.erase()

    def _fill_primal(self, custom: CustomFunction) -> None:
        """Compute the value of an op: by its lowering, or by the op itself."""
        op, body = custom.source, custom.open_block(PRIMAL)
        with ir.InsertionPoint(body), op.location:
            copy = custom.copy(custom.application(body, sees_results=False).operands)
            yield_(custom.widened([v for v in copy.results if b.is_float(v.type)]))
        lowering = LOWERINGS.get(op.name)
        if lowering is not None:
            source = Source(lowering.code, "lowering", lowering.place, op)
            self._lower(copy, VALUES)
            check_block(source, body, [])
            verify(custom.op, source)

    def _stop(self, op: ir.Operation, depth: int) -> None:
        """Let an op be constant: nothing that it takes carries a derivative into it."""
        positions = [k for k, v in enumerate(op.operands) if b.is_float(v.type)]
        if positions:
            with before(op):
                for k in positions:
                    op.operands[k] = stopped(op.operands[k], op.name)
        self._lower(op, depth)

    def _lower(self, op: ir.Operation, depth: int) -> None:
        """Put what computes an op in its place, if that is registered."""
        lowering = LOWERINGS.get(op.name)
        if lowering is None:
            return
        source = Source(lowering.code, "lowering", lowering.place, op)
        if op.name in self._lowered:
            source.refuse("is made of the op itself")
        draft = self._draft(op, source)
        self._lowered.append(op.name)
        self._replace_inside(draft.regions[PRIMAL], depth)
        self._lowered.pop()
        *body, last = block_operations(draft.regions[PRIMAL].blocks[0])
        for child in body:
            child.move_before(op)
        replace(op, list(last.operands))
        draft.erase()

    def _draft(self, op: ir.Operation, source: Source) -> ir.Operation:
        """Return an op whose first region holds what takes the place of another."""
        types = [result.type for result in op.results]
        application = Application(op.name, [*op.operands], [], attributes_of(op))
        with before(op):
            draft = create_custom(op.name, [], [], 0)
            with ir.InsertionPoint(b.block(draft, PRIMAL)):
                yield_(values_of(source, self.functions, application, None, types))
        return draft

    def _replace_inside(self, region: ir.Region, depth: int) -> None:
        """Replace the ops that registered code has made."""
        for op in block_operations(region.blocks[0]):
            for inner in [o for o in (op, *operations(op)) if is_registered(o.name)]:
                self.replace(inner, depth)


def _require_numbers(op: ir.Operation) -> None:
    for value in (*op.operands, *op.results):
        if not is_number(value.type):
            refuse(
                op,
                f"'{op.name}' of a value of type '{value.type}': derivatives are registered for "
                "numbers, f16, f32, f64, index and integers of at most 64 bits",
            )
