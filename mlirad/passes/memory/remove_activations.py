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
from mlirad.dialect.snode import trees_around
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import If, is_branch, is_parallel, is_serial_loop
from mlirad.ir.walk import block_operations, defining_op, entry_of, functions, operations

REQUIRES = KERNELS

Cell = tuple[str, tuple[ir.Value, ...]]


def remove_activations(module: ir.Operation) -> None:
    """Remove activations of cells that are known to be active."""
    for function in functions(module):
        if any(ActivateOp.holds(op) for op in operations(function)):
            _of_block(module, entry_of(function), set())


def _of_block(module: ir.Operation, block: ir.Block, known: set[Cell]) -> None:
    for op in block_operations(block):
        if ActivateOp.holds(op):
            if _cell(op) in known:
                op.erase()
            else:
                known.add(_cell(op))
            continue
        if is_branch(op):
            branch = If(op)
            tested = known | _tested(module, op.operands[0])
            for inner, cells in zip(branch.blocks, (tested, set(known))):
                _of_block(module, inner, cells)
        elif is_parallel(op) or is_serial_loop(op):
            _of_loop(module, op, known)
        if _deactivates(op):
            known.clear()


def _of_loop(module: ir.Operation, loop: ir.Operation, known: set[Cell]) -> None:
    if _deactivates(loop) and is_parallel(loop):
        return
    for region in loop.regions:
        for block in region.blocks:
            _of_block(module, block, set() if _deactivates(loop) else set(known))


def _deactivates(op: ir.Operation) -> bool:
    return DeactivateOp.holds(op) or any(DeactivateOp.holds(inner) for inner in operations(op))


def _tested(module: ir.Operation, condition: ir.Value) -> set[Cell]:
    """The cells that are active, with all around them, where a condition holds."""
    op = defining_op(condition)
    if op is not None and op.name == "arith.andi":
        return _tested(module, op.operands[0]) | _tested(module, op.operands[1])
    if op is None or not IsActiveOp.holds(op) or _is_within_bitmasked(module, block_named(op)):
        return set()
    return {_cell(op)}


def _is_within_bitmasked(module: ir.Operation, block: str) -> bool:
    """Whether a block lies in one whose cells may be inactive while its own are active."""
    return any(op.name == BITMASKED for op in trees_around(blocks_of(module, block)[0]))


def _cell(op: ir.Operation) -> Cell:
    assert is_on_activity(op)
    return block_named(op), tuple(op.operands)
