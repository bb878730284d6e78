"""Leave away zeros that a launch stores last: memory waits to be cleared instead.

The reverse of a launch that overwrites elements clears their adjoints when it has read them. Of a
field of derivatives whose elements with one first index are many, boxes of such that a store of 0
sweeps, and nothing in the kernel touches later, are noted in `field.left`, as `mark-footprints`
writes them, of the numbers of the launch's arguments; the store is gone. Only of a field whose
elements lie in order: of others no rows wait.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.analysis.footprints.footprint import Axes
from mlirad.analysis.footprints.swept_boxes import fixed_row, swept_box
from mlirad.analysis.footprints.waiting_fields import (
    Access,
    accesses_by_field,
    are_apart,
    is_outside_before,
    note_boxes,
)
from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_store
from mlirad.ir.memory.waiting import derivatives, has_large_rows, lies_in_order
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.walk import defining_op, enclosing, functions

REQUIRES = KERNELS


def remove_last_clears(module: ir.Operation) -> None:
    """Have rows of large derivatives wait to be cleared, where a kernel stores zeros to them
    last."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    numbers, left = argument_numbers(kernels[0]), dict[str, list[Axes]]()
    names = derivatives(module)
    for name, group in accesses_by_field(kernels[0]).items():
        array = group[0].array.type
        if name not in names or not has_large_rows(array, is_derivative=True):
            continue
        if not lies_in_order(module, name):
            continue
        for access in [one for one in group if _is_clear(one)]:
            box = _box_left(access, group, numbers)
            if box is not None:
                left.setdefault(name, []).append(box)
                group.remove(access)
                access.op.erase()
    note_boxes(module, "field.left", left)


def _is_clear(access: Access) -> bool:
    """Whether an access stores 0, and no -0."""
    if not is_store(access.op):
        return False
    made_by = defining_op(access.op.operands[0])
    if made_by is None or made_by.name != "arith.constant":
        return False
    value = made_by.attributes["value"]
    return isinstance(value, ir.FloatAttr) and str(value.value) == "0.0"


def _box_left(access: Access, group: list[Access], numbers: Mapping[int, int]) -> Axes | None:
    """The box that is 0 after a launch; None where that is not known."""
    if min(array_of(access.array.type)[1]) < 1 or fixed_row(access.indices, numbers) is None:
        return None
    if not all(_is_clear(other) or _is_earlier_or_apart(other, access) for other in group):
        return None
    return swept_box(access.op, access.indices, numbers)


def _is_earlier_or_apart(other: Access, clear: Access) -> bool:
    """Whether an access is done with what is cleared, or elsewhere."""
    if are_apart(other, clear) or is_outside_before(other, clear):
        return True
    # in the same iteration: no other one reaches the element
    inside: ir.Operation = other.op
    while inside.block != clear.op.block:
        inside = enclosing(inside)
        if inside.name == "func.func":
            return False
    forms = [[linear_form(index) for index in one.indices] for one in (other, clear)]
    return forms[0] == forms[1] and inside.is_before_in_block(clear.op)
