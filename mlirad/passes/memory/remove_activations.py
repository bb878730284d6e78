"""Remove activations of cells that are known to be active: within a test of the same cell, as loops
over active elements have it, or behind another activation of it.

What deactivates, of which nothing is known, ends that; in a parallel loop, for all iterations.
"""

from mlirad.bindings import ir
from mlirad.dialect.activity import (
    ActivateOp,
    DeactivateOp,
    IsActiveOp,
    block_named,
    blocks_of,
    is_on_activity,
)
from mlirad.dialect.layout_rules import BITMASKED
from mlirad.dialect.snode import activity_of, extents_of, trees_around
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import If, is_branch, is_parallel, is_serial_loop
from mlirad.ir.walk import (
    block_operations,
    conjuncts,
    constant_integer,
    defining_op,
    entry_of,
    functions,
    operations,
)

REQUIRES = KERNELS

Cell = tuple[str, tuple[ir.Value, ...]]


def remove_activations(module: ir.Operation) -> None:
    """Remove activations of cells that are known to be active."""
    for function in functions(module):
        if any(ActivateOp.holds(op) for op in operations(function)):
            _visit_block(module, entry_of(function), set())


def _visit_block(module: ir.Operation, block: ir.Block, active: set[Cell]) -> None:
    for op in block_operations(block):
        if ActivateOp.holds(op):
            if _cell(op) in active:
                op.erase()
            else:
                active.add(_cell(op))
            continue
        if is_branch(op):
            branch = If(op)
            tested = active | _active_cells(module, op.operands[0])
            for inner, cells in zip(branch.blocks, (tested, set(active))):
                _visit_block(module, inner, cells)
        elif is_parallel(op) or is_serial_loop(op):
            _visit_loop(module, op, active)
        if _deactivates(op):
            active.clear()


def _visit_loop(module: ir.Operation, loop: ir.Operation, active: set[Cell]) -> None:
    if _deactivates(loop) and is_parallel(loop):
        return
    for region in loop.regions:
        for block in region.blocks:
            _visit_block(module, block, set() if _deactivates(loop) else set(active))


def _deactivates(op: ir.Operation) -> bool:
    return DeactivateOp.holds(op) or any(DeactivateOp.holds(inner) for inner in operations(op))


def _active_cells(module: ir.Operation, condition: ir.Value) -> set[Cell]:
    """The cells that are active, with all around them, where a condition holds."""
    tests = _tests(condition)
    tested = {_cell(op) for op in tests}
    return {_cell(op) for op in tests if _cells_around(module, op, tests) <= tested}


def _tests(condition: ir.Value) -> list[ir.Operation]:
    """The tests of cells that all have to hold for a condition."""
    ops = map(defining_op, conjuncts(condition))
    return [op for op in ops if op is not None and IsActiveOp.holds(op)]


def _cells_around(
    module: ir.Operation, test: ir.Operation, tests: list[ir.Operation]
) -> set[Cell | None]:
    """The cells of bitmasked blocks, which may be inactive while those inside are not, around a
    cell: as they are tested, or None for one that is not."""
    block = blocks_of(module, block_named(test))[0]
    around: set[Cell | None] = set()
    path = list(trees_around(block))[:-1]
    for position, outer in enumerate(path):
        if outer.name == BITMASKED:
            inside = extents_of([block, *path[:position]])
            axes = sorted(extents_of([block, *path])), sorted(extents_of(path[position:]))
            digits = [
                _digits(test.operands[axes[0].index(axis)], inside.get(axis, 1)) for axis in axes[1]
            ]
            around.add(
                next(
                    (
                        _cell(op)
                        for op in tests
                        if block_named(op) == activity_of(outer)
                        and [_digits(value, 1) for value in op.operands] == digits
                    ),
                    None,
                )
            )
    return around


def _digits(index: ir.Value, width: int) -> tuple[ir.Value, int]:
    """A quotient of an index by a constant, divided further by a width: of what, and by what."""
    op = defining_op(index)
    divisor = None if op is None or op.name != Arith.DIVUI else constant_integer(op.operands[1])
    if op is None or divisor is None:
        return index, width
    return op.operands[0], width * divisor


def _cell(op: ir.Operation) -> Cell:
    assert is_on_activity(op)
    return block_named(op), tuple(op.operands)
