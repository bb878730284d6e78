"""Give integer divisions a value for every divisor, and loops an end for every step.

A processor ends the process for a division by 0, and for the quotient of the least integer and -1;
a loop with a step that is not positive does not end. Afterwards what is divided by 0 is 0, the
least integer by -1 is the least integer, as in kernels that are written in Python, and such a loop
runs no iteration. What is guarded is marked, for `insert-integer-checks`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.analysis.index_ranges import index_range
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.guarded import GUARDED
from mlirad.ir.ops import INTEGER_DIVISIONS, SIGNED_DIVISIONS, Arith, Scf
from mlirad.ir.walk import before, behind, constant_integer, operations

_REMAINDERS = (Arith.REMSI, Arith.REMUI)
_LOOPS = (Scf.FOR, Scf.PARALLEL)
_INDEX_BITS = 64


def insert_integer_guards(root: ir.Operation) -> None:
    """Define integer divisions for every divisor, and end loops whose step is not positive."""
    for op in [op for op in operations(root) if op.name in (*INTEGER_DIVISIONS, *_LOOPS)]:
        if GUARDED in op.attributes:
            continue
        if op.name in _LOOPS:
            _guard_steps(op)
        elif isinstance(op.results[0].type, ir.IntegerType | ir.IndexType):
            _guard_divisor(op)


def _guard_divisor(op: ir.Operation) -> None:
    divisor, type_ = op.operands[1], op.results[0].type
    if _is_harmless(divisor, op):
        return
    with before(op):
        zero = b.number(0, type_)
        is_zero = bad = b.compare(b.EQ, divisor, zero)
        if op.name in SIGNED_DIVISIONS:
            bad = b.ori(is_zero, _wraps(op.operands[0], divisor, type_))
        op.operands[1] = b.select(bad, b.number(1, type_), divisor)
    op.attributes[GUARDED] = ir.UnitAttr.get()
    if op.name not in _REMAINDERS:
        uses = list(op.results[0].uses)
        with behind(op):
            quotient = b.select(is_zero, zero, op.results[0])
        for use in uses:
            use.owner.operands[use.operand_number] = quotient


def _is_harmless(divisor: ir.Value, op: ir.Operation) -> bool:
    """Return whether everything can be divided by what a divisor is known to be."""
    number = constant_integer(divisor)
    if number is not None:
        return number != 0 and (number != -1 or op.name not in SIGNED_DIVISIONS)
    interval = index_range(divisor)
    return interval is not None and interval[0] > 0


def _wraps(dividend: ir.Value, divisor: ir.Value, type_: ir.Type) -> ir.Value:
    """Return whether an operand is the least integer and the other one is -1."""
    bits = type_.width if isinstance(type_, ir.IntegerType) else _INDEX_BITS
    least = b.compare(b.EQ, dividend, b.number(-(1 << (bits - 1)), type_))
    return b.andi(least, b.compare(b.EQ, divisor, b.number(-1, type_)))


def _guard_steps(loop: ir.Operation) -> None:
    for low, high, step in _places_of_bounds(loop):
        start, end, distance = (loop.operands[place] for place in (low, high, step))
        if constant_integer(distance) is not None:
            continue  # it is positive: a loop with another one is refused
        with before(loop):
            is_forward = b.compare(b.SGT, distance, b.number(0, distance.type))
            loop.operands[high] = b.select(is_forward, end, start)
            loop.operands[step] = b.select(is_forward, distance, b.number(1, distance.type))
        loop.attributes[GUARDED] = ir.UnitAttr.get()


def _places_of_bounds(loop: ir.Operation) -> Iterator[tuple[int, int, int]]:
    """Yield the numbers of the operands that are the ends and the step of each axis."""
    if loop.name == Scf.FOR:
        yield 0, 1, 2
        return
    axes = len(loop.regions[0].blocks[0].arguments)
    yield from ((axis, axes + axis, 2 * axes + axis) for axis in range(axes))
