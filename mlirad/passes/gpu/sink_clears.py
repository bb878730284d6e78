"""Store zeros behind everything else that an iteration does.

A reverse pass reads an adjoint and clears it. Nothing makes a thread wait between the two, so the
store reaches the first-level cache before the line that the load asked for. On an H200, a loop that
does so has a fifth of the bandwidth. Behind the accesses that need what was loaded, the store is
late enough.

A store stays in its block, and in front of the next access that may touch its element.
"""

from __future__ import annotations

from mlirad.analysis.linear import LinearForms
from mlirad.bindings import ir
from mlirad.dialect.field import GetOp, is_access, is_store, split_access
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.ops import Scf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_branch, is_for
from mlirad.ir.walk import array_root, block_operations, functions, is_zero, operations

REQUIRES = KERNELS


def sink_clears(module: ir.Operation) -> None:
    """Move stores of zeros to the end of the iteration."""
    for function in functions(module):
        for loop in free_loops(operations(function)):
            clears = [op for op in operations(loop) if is_store(op) and is_zero(op.operands[0])]
            for op in reversed(clears):
                _sink(op)


def _sink(store: ir.Operation) -> None:
    """Move a store in front of the first operation behind it that it may not pass."""
    ops = block_operations(store.block)
    behind = ops[ops.index(store) + 1 :]
    forms = LinearForms()
    end = next((op for op in behind[:-1] if _stops(op, store, forms)), behind[-1])
    if end != behind[0]:
        store.move_before(end)


def _stops(op: ir.Operation, store: ir.Operation, forms: LinearForms) -> bool:
    """Return whether an operation may touch the element of a store, or does what is not known
    here."""
    if is_access(op):
        return _may_touch_one(op, store, forms)
    if is_branch(op) or is_for(op):
        inside = (inner for inner in operations(op) if inner.name != Scf.YIELD)
        return any(_stops(inner, store, forms) for inner in inside)
    return not (is_pure(op) or GetOp.holds(op))


def _may_touch_one(left: ir.Operation, right: ir.Operation, forms: LinearForms) -> bool:
    """Return whether two accesses may touch the same element."""
    arrays, places = zip(*map(split_access, (left, right)))
    roots = tuple(map(array_root, arrays))
    if roots[0] != roots[1]:
        return not any(isinstance(root, str) for root in roots)
    axes = zip(*(map(forms.form_of, indices) for indices in places))
    differences = (left_form.plus(right_form, -1) for left_form, right_form in axes)
    return not any(form.constant and not form.terms for form in differences)
