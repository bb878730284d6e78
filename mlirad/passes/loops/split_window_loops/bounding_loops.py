"""Loops by whose index inner loops are bounded, around those of their nest that bound none."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.bound_ends import ends_of, quotient_of
from mlirad.analysis.linear import Linear, linear_form
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import For, is_for, runs_in_any_order
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    is_defined_in,
    operations,
)


def move_bounding_out(root: ir.Operation) -> None:
    """Put the loops of a nest that run in any order in another order, if those that bound others
    are not the outermost; what bounds are computed by goes with them."""
    loops = _nest(root)
    bounding = [loop for loop in loops if _bounds_others(loop)]
    ordered = [*bounding, *(loop for loop in loops if loop not in bounding)]
    if bounding and ordered != loops:
        _reorder(loops, ordered, len(bounding))


def _nest(root: ir.Operation) -> list[ir.Operation]:
    """The loops of a nest without results, each the only op with effects, or regions, of the one
    around it."""
    nest: list[ir.Operation] = []
    op: ir.Operation | None = root
    while op is not None and runs_in_any_order(op) and not len(op.results):
        if any(is_defined_in(bound, root) for bound in list(op.operands)[:3]):
            break
        nest.append(op)
        work = [inner for inner in block_operations(For(op).body)[:-1] if not _is_of_indices(inner)]
        op = work[0] if len(work) == 1 else None
    return nest


def _is_of_indices(op: ir.Operation) -> bool:
    kinds = ir.IndexType | ir.IntegerType
    return op.name.startswith("arith.") and isinstance(op.results[0].type, kinds)


def _bounds_others(loop: ir.Operation) -> bool:
    index = For(loop).induction
    return any(
        _sum_of(end).coefficient(index)
        for inner in operations(loop)
        if is_for(inner)
        for ends in ends_of(inner)
        for end in ends
    )


def _sum_of(end: ir.Value) -> Linear[ir.Value]:
    quotient = quotient_of(end)
    return linear_form(end) if quotient is None else quotient.sum


def _reorder(loops: Sequence[ir.Operation], ordered: Sequence[ir.Operation], outer: int) -> None:
    """Make the loops anew in an order, around what is in the innermost one; index arithmetic goes
    as far out as the first loops."""
    root, innermost = loops[0], loops[-1]
    body_ops = [op for loop in loops[:-1] for op in block_operations(For(loop).body)[:-1]]
    body_ops = [op for op in body_ops if op not in loops]
    body_ops += block_operations(For(innermost).body)[:-1]
    new_loops: list[For] = []
    for loop in ordered:
        end = before(root) if not new_loops else at_end(new_loops[-1].body, loop.location)
        with end:
            low, high, step = list(loop.operands)
            new_loops.append(b.for_loop(low, high, step))
            for name, attribute in attributes_of(loop).items():
                new_loops[-1].op.attributes[name] = attribute
    for new_loop in reversed(new_loops):
        with at_end(new_loop.body, new_loop.op.location):
            b.yield_()
    first = new_loops[outer].op
    for op in body_ops:
        op.move_before(block_operations(new_loops[-1].body)[-1])
    for loop, new_loop in zip(ordered, new_loops):
        For(loop).induction.replace_all_uses_with(new_loop.induction)
    for op in body_ops:
        if _is_of_indices(op) and not any(is_defined_in(value, first) for value in op.operands):
            op.move_before(first)
    root.erase()
