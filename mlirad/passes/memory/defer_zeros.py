"""Leave it to the runtime to set derivatives to 0 that a launch has taken out of a field.

The reverse of a store loads the derivative of what was stored, and stores 0 there. Often nothing
loads these zeros: the launch that adds to the same elements next begins at 0
(`insert-first-updates`), or nothing adds to them before all derivatives are cleared, as to the rows
of a field over time. This pass removes such stores, and notes in `field.later` the box of the field
that is to be set to 0 after each launch. The runtime defers that (docs/deferred-writes.md). The
launch loads elements of the box only where it would have stored 0, before it would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, prod

from mlirad.analysis.footprints.footprint import Axes
from mlirad.analysis.footprints.large_fields import (
    Access,
    accesses_by_field,
    are_apart,
    note_boxes,
)
from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_load, is_store
from mlirad.dialect.snode import RootOp, places, trees_around
from mlirad.ir.memory.large_arrays import LEAST, bytes_of, derivatives
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.walk import block_operations, defining_op, functions

REQUIRES = KERNELS
LEAST_BOX = 1 << 17  # bytes: to store fewer zeros takes less time than to defer them


def defer_zeros(module: ir.Operation) -> None:
    """Leave stores of zeros to boxes of derivatives to the runtime."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    names, alone, later = derivatives(module), set(_fields_alone(module)), {}
    for root, accesses in accesses_by_field(kernels[0]).items():
        zeros = [access for access in accesses if _is_zero(access.op)]
        if not zeros or root not in names or bytes_of(accesses[0].array.type) < LEAST:
            continue
        if root not in alone or not accesses[0].indices:
            continue
        if not all(_is_apart_or_earlier(other, zero) for other in accesses for zero in zeros):
            continue
        from mlirad.analysis.footprints.swept_boxes import (
            swept_box,  # both for large fields alone
            united_box,
        )

        numbers = argument_numbers(kernels[0])
        box = united_box([swept_box(zero.op, zero.indices, numbers) for zero in zeros])
        if box is not None and _bytes_of_box(box, accesses[0].array.type) >= LEAST_BOX:
            later[root] = [box]
            for zero in zeros:
                zero.op.erase()
    note_boxes(module, "field.later", later)


def _fields_alone(module: ir.Operation) -> Iterator[str]:
    """Yield the fields whose elements lie side by side, with no others among them."""
    for place in places(module):
        blocks = [block for block in trees_around(place) if not RootOp.holds(block)]
        if all(len(block_operations(block.regions[0].blocks[0])) == 1 for block in blocks):
            yield ir.StringAttr(place.attributes["sym_name"]).value


def _bytes_of_box(box: Axes, array: ir.Type) -> int:
    """The size of a box, whose axes of unknown lengths count as all of the array's."""
    elements, extents = 1, array_of(array)[1]
    for axis, extent in zip(box, extents):
        low, high = axis.low, axis.high
        if low is not None and high is not None and low.terms == high.terms:
            elements *= max(0, high.constant - low.constant + 1)
        else:
            elements *= extent
    return elements * bytes_of(array) // prod(extents)


def _is_zero(op: ir.Operation) -> bool:
    """Return whether an op stores 0."""
    value = defining_op(op.operands[0]) if is_store(op) else None
    if value is None or value.name != Arith.CONSTANT:
        return False
    number = value.attributes["value"]
    return isinstance(number, ir.FloatAttr) and number.value == 0 and copysign(1, number.value) == 1


def _is_apart_or_earlier(other: Access, zero: Access) -> bool:
    """Return whether an access is the store of a zero itself, elsewhere, or before it in the same
    iteration."""
    if other.op == zero.op or are_apart(other, zero):
        return True
    is_same = is_load(other.op) and other.indices == zero.indices
    return is_same and other.op.block == zero.op.block and other.op.is_before_in_block(zero.op)
