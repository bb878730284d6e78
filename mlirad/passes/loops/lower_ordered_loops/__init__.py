"""Make parallel loops serial that set a variable of their kernel: their order is the program's, on
every machine.

A variable of the kernel that a parallel loop changes is memory of the launch (`field.alloca`). What
only gets sums, or other updates of one kind, is the same in any order. What is set to a value, or
read while it is updated, depends on the order: such a loop becomes a nest of `scf.for`, in front of
derivatives and machines, and its variables become `memref.alloca`, for `mem2reg`. A variable that
each iteration sets before it reads it, and that nothing else reads, becomes one of the iteration,
and leaves the loop parallel.

A loop over active elements stays until its list is made (`insert-active-lists`), which a second run
of this pass follows.
"""

from __future__ import annotations

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.activity import IsActiveOp, LengthOp
from mlirad.dialect.field import AllocaOp, atomic_kind, is_atomic, is_load, replaces, split_access
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    accesses,
    constant_integer,
    defining_op,
    functions,
    is_defined_in,
    operations,
)

REQUIRES = KERNELS


def lower_ordered_loops(module: ir.Operation) -> None:
    """Serialize parallel loops whose iterations set a variable from outside the loop."""
    for function in functions(module):
        for loop in [op for op in operations(function) if is_parallel(op)]:
            variables = ordered_variables(loop)
            if variables and not _visits_cells(loop):
                from mlirad.passes.loops.lower_ordered_loops.ordered_loop import (
                    lower,  # few programs have one
                )

                lower(loop, variables)


def ordered_variables(loop: ir.Operation) -> list[ir.Value]:
    """The variables from outside of a loop whose values depend on the order of its iterations."""
    if all(span.is_single for span in spans(loop)):
        return []
    by_variable: dict[ir.Value, list[ir.Operation]] = {}
    for op, array, _ in accesses(loop):
        if isinstance(array, ir.Value) and _is_variable(array, loop):
            by_variable.setdefault(array, []).append(op)
    return [array for array, ops in by_variable.items() if _is_ordered(ops, loop)]


def _is_variable(array: ir.Value, loop: ir.Operation) -> bool:
    op = defining_op(array)
    return op is not None and AllocaOp.holds(op) and not is_defined_in(array, loop)


def _is_ordered(ops: list[ir.Operation], loop: ir.Operation) -> bool:
    if any(replaces(op) and _is_fixed(op, loop) for op in ops):
        return True
    if split_access(ops[0])[1]:  # elements of an array
        return False
    kinds = {atomic_kind(op) for op in ops if is_atomic(op)}
    return len(kinds) > 1 or (bool(kinds) and any(map(is_load, ops)))


def _is_fixed(op: ir.Operation, loop: ir.Operation) -> bool:
    """Return whether an access goes to the same element in all iterations."""
    return not any(
        constant_integer(index) is None and is_defined_in(index, loop)
        for index in split_access(op)[1]
    )


def _visits_cells(loop: ir.Operation) -> bool:
    return any(IsActiveOp.holds(op) or LengthOp.holds(op) for op in operations(loop))
