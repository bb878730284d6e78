"""Loops over the active elements of a field, or cells of a block: over all, with a test in front of
the body.

`insert-active-lists` makes loops over lists of active cells of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect.activity import VISITS, IsActiveOp
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.active_cells import are_active
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.blocks import block_ref
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir.walk import owner_operation

# the test of an index; no test, or None as its result, if all elements are active
ActivityTest = Callable[[Sequence[Expr]], ir.Value | None] | None


def activity_test(domain: object) -> ActivityTest:
    """The test of the indices of a loop's domain; none except for sparse fields and blocks."""
    arrays = array_ref(domain)
    if arrays is not None:
        array = arrays.leaves()[0]
        return lambda indices: are_active(array.activities, array.indices(list(indices)))
    block = block_ref(domain)
    if block is None:
        return None
    activities = block.activities
    return lambda indices: are_active(activities, [ex.as_index(i) for i in indices])


def if_active(
    active: ActivityTest,
    indices: Sequence[Expr],
    body: Callable[[], object],
    *,
    is_serial: bool = False,
) -> None:
    """Run the body of a loop if the element of an iteration is active."""
    test = None if active is None else active(indices)
    if test is None:
        body()
        return
    if is_serial:
        _mark_visits(test)
    if_op(test, body, is_tail=True)


def _mark_visits(test: ir.Value) -> None:
    """Note on a test, and on those that it is made of, that a serial loop asks."""
    op = owner_operation(test)
    if IsActiveOp.holds(op):
        op.attributes[VISITS] = ir.UnitAttr.get()
    else:
        for operand in op.operands:
            _mark_visits(operand)
