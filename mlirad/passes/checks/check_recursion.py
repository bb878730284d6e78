"""Reject derivatives of kernels that call functions which call themselves.

The variables of such a function are on a stack in memory (`frontend/python/calls/recursion.py`),
through which derivatives are not followed. A kernel that writes no floats has none.
"""

from mlirad.bindings import ir
from mlirad.dialect.field import RECURSION, element_type, is_read, is_write, split_access
from mlirad.errors import TaichiCompilationError
from mlirad.ir.build import is_float
from mlirad.ir.ops import Func
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import KERNELS
from mlirad.ir.walk import functions, operations

REQUIRES = KERNELS
ONLY_MARKS = True


def check_recursion(module: ir.Operation) -> None:
    """Refuse to differentiate functions that write floats and call recursive functions."""
    for function in functions(module):
        ops = list(operations(function))
        stacks = [op for op in ops if RECURSION in op.attributes]
        if stacks and _has_derivatives(ops):
            name = ir.StringAttr(stacks[0].attributes[RECURSION]).value
            raise TaichiCompilationError(
                f"'{name}' calls itself, which cannot be differentiated: write it as a loop, or "
                "keep the kernel out of the derivative (ti.ad.no_grad, a launch outside of the "
                "tape)",
                source_location(stacks[0].location),
            )


def _has_derivatives(ops: list[ir.Operation]) -> bool:
    """Return whether floats are written, or leave as a result though some are read."""
    if any(is_write(op) and _is_of_floats(op) for op in ops):
        return True
    results = any(
        is_float(value.type) for op in ops if op.name == Func.RETURN for value in op.operands
    )
    return results and any(is_read(op) and _is_of_floats(op) for op in ops)


def _is_of_floats(op: ir.Operation) -> bool:
    array, _ = split_access(op)
    return is_float(element_type(array.type))
