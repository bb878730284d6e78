"""Let loops count in `index`, as those of kernels do.

Nothing is assumed; no `scf.for` counts in another type, or compares without signs. One that does
either is taken to make fewer than 2⁶³ iterations.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import is_for
from mlirad.ir.walk import before, operations

_UNSIGNED = "unsignedCmp"


def lower_integer_loops(root: ir.Operation) -> None:
    """Let every loop count with signed numbers of type `index`."""
    for op in operations(root):
        if is_for(op) and (_UNSIGNED in op.attributes or counts_in(op) != "index"):
            _lower(op)


def counts_in(loop: ir.Operation) -> str:
    """Return the type of a loop's bounds."""
    return str(loop.operands[0].type)


def _lower(loop: ir.Operation) -> None:
    is_unsigned = _UNSIGNED in loop.attributes
    convert = b.index_castui if is_unsigned else b.index_cast
    kind = loop.operands[0].type
    is_index = isinstance(kind, ir.IndexType)
    with before(loop):
        numbers = list(loop.operands)[:3]
        lower, upper, step = (
            number if is_index else convert(number, b.index_type()) for number in numbers
        )
        if is_unsigned:  # bounds of 64 bits may have signs
            upper = b.select(b.compare(b.ULT, lower, upper), upper, lower)
    for position, number in enumerate((lower, upper, step)):
        loop.operands[position] = number
    if is_unsigned:
        del loop.attributes[_UNSIGNED]
    if not is_index:
        _convert_counter(loop, kind)


def _convert_counter(loop: ir.Operation, kind: ir.Type) -> None:
    block = loop.regions[0].blocks[0]
    counter = block.arguments[0]
    uses = [(use.owner, use.operand_number) for use in counter.uses]
    counter.set_type(b.index_type())
    with ir.InsertionPoint.at_block_begin(block), loop.location:
        number = b.index_cast(counter, kind)
    for user, position in uses:
        user.operands[position] = number
