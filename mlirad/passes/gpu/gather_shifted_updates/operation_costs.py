"""The costs of operations, in additions of floats."""

from __future__ import annotations

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_load
from mlirad.dialect.grad import PopOp
from mlirad.ir.elementary.table import INSTRUCTIONS
from mlirad.ir.ops import Math
from mlirad.ir.structured import is_for
from mlirad.ir.walk import block_operations

ATOMIC, LOAD, DIVISION, FUNCTION = 60, 4, 8, 30
_DIVISIONS = ("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv", Math.SQRT, Math.RSQRT)
_SIMPLE = INSTRUCTIONS | {Math.ABSI}


def cost_of(op: ir.Operation) -> int:
    """The cost of an operation, with those in it."""
    if is_for(op):
        return spans(op)[0].expected_trips * _cost_inside(op)
    if len(op.regions):
        return _cost_inside(op)
    if is_load(op) or PopOp.holds(op):
        return LOAD
    if op.name.startswith(_DIVISIONS):
        return DIVISION
    return FUNCTION if op.name.startswith("math.") and op.name not in _SIMPLE else 1


def _cost_inside(op: ir.Operation) -> int:
    blocks = [block for region in op.regions for block in region.blocks]
    return sum(cost_of(child) for block in blocks for child in block_operations(block))
