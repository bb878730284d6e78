"""Replace ops of dialects that are not ours by what programs have registered for them: a derivative
(`ti.mlir.derivative`), a lowering (`ti.mlir.lowering`), or both.

An op with a derivative becomes `grad.custom`, whose value is the op, or its lowering. An op that
has a lowering only is replaced by it, and has the derivative of what takes its place.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp
from mlirad.ir.foreign_ops.registry import is_registered, require_ops
from mlirad.ir.walk import ancestors, functions, operations


def lower_foreign_ops(module: ir.Operation) -> None:
    """Replace ops with a registered derivative by functions with custom derivatives, and ops with a
    registered lowering by that lowering."""
    if not any(is_registered(op.name) for op in operations(module)):
        return
    from mlirad.passes.functions.lower_foreign_ops.code_functions import CodeFunctions
    from mlirad.passes.functions.lower_foreign_ops.replacement import Replacement

    require_ops(module.context)
    sources = CodeFunctions(module)
    replacement = Replacement(sources)
    for function in functions(module):
        if not sources.holds(function):
            for op in [op for op in operations(function) if is_registered(op.name)]:
                if not _is_value_of_itself(op):
                    replacement.replace(op)
    sources.erase()


def _is_value_of_itself(op: ir.Operation) -> bool:
    """Return whether an op without a lowering stands in the function that an earlier run made."""
    return any(
        CustomOp.holds(owner) and ir.StringAttr(owner.attributes["function"]).value == op.name
        for owner in ancestors(op)
    )
