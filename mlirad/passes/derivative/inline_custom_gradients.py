"""Put the bodies of functions with custom derivatives in place of their calls, and values in place
of `grad.detach`.

Derivatives have been taken by then: what is left of these ops stands for its value. Functions
whose derivatives are still to come (`grad.dual`) keep theirs. The bodies are exact
(`ir/marks/rounding.py`), as they are where they are still one op.
"""

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp, DetachOp, DualOp
from mlirad.ir.custom import PRIMAL, move_out
from mlirad.ir.marks.rounding import EXACT, mark_unmarked
from mlirad.ir.walk import block_operations


def inline_custom_gradients(module: ir.Operation) -> None:
    """Replace `grad.custom` by the function's value, and `grad.detach` by its operand."""
    for region in module.regions:
        for block in region.blocks:
            _inline(block_operations(block))


def _inline(ops: list[ir.Operation]) -> None:
    """Replace calls among some ops, and in what they hold; a function may call others."""
    for op in ops:
        if CustomOp.holds(op):
            mark_unmarked(op.regions[PRIMAL], EXACT)
            body = block_operations(op.regions[PRIMAL].blocks[0])[:-1]
            for result, value in zip(op.results, move_out(op, PRIMAL, list(op.operands))):
                result.replace_all_uses_with(value)
            op.erase()
            _inline(body)
        elif DetachOp.holds(op):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        elif not DualOp.holds(op) and len(op.regions):
            inline_custom_gradients(op)
