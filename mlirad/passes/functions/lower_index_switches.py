"""Make branches of two of those that have a region for each of several numbers.

Nothing is assumed; no `scf.index_switch` is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Scf
from mlirad.ir.walk import before, block_operations, clone, operations, replace


def lower_index_switches(root: ir.Operation) -> None:
    """Replace every `scf.index_switch` by nested `scf.if`, innermost first."""
    for op in reversed([op for op in operations(root) if op.name == Scf.INDEX_SWITCH]):
        cases = list(ir.DenseI64ArrayAttr(op.attributes["cases"]))
        default, *blocks = [region.blocks[0] for region in op.regions]
        with before(op):
            results = _choose(op, list(zip(cases, blocks)), default)
        replace(op, results)


def _choose(
    op: ir.Operation, cases: Sequence[tuple[int, ir.Block]], default: ir.Block
) -> list[ir.Value]:
    """Emit the first of some cases that holds, or else the default; its results."""
    if not cases:
        return _inline(default)
    (case, block), *following = cases
    equal = b.compare(b.EQ, op.operands[0], b.index(case))
    branch = b.if_else(equal, [result.type for result in op.results])
    with ir.InsertionPoint(branch.then):
        b.yield_(_inline(block))
    with ir.InsertionPoint(branch.otherwise):
        b.yield_(_choose(op, following, default))
    return list(branch.op.results)


def _inline(block: ir.Block) -> list[ir.Value]:
    """Emit what a block does; what it yields."""
    values: dict[ir.Value, ir.Value] = {}
    *ops, end = block_operations(block)
    for op in ops:
        clone(op, values)
    return [values.get(value, value) for value in end.operands]
