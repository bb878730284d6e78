"""Casts of double to half precision by way of single precision, for which processors have
instructions; C's function for the whole way may be missing.

The first cast rounds to odd, so that the second rounds as one of the whole way does (Boldo and
Melquiond 2008, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
odd").
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.walk import before, operations


def lower_half_casts(root: ir.Operation) -> None:
    """Cast in two steps, vectors too."""
    double, half = ir.F64Type.get(root.context), ir.F16Type.get(root.context)
    for op in [op for op in operations(root) if op.name == "arith.truncf"]:
        if (b.element_of(op.operands[0].type), b.element_of(op.results[0].type)) == (double, half):
            with before(op):
                op.operands[0] = _to_odd(op.operands[0])


def _to_odd(value: ir.Value) -> ir.Value:
    """A number of single precision: the same, or of the two beside it the one whose last bit
    is 1."""
    single = b.with_element(value.type, ir.F32Type.get())
    word, flag = (b.with_element(value.type, b.integer_type(bits)) for bits in (32, 1))
    nearest = b.make("arith.truncf", single, [value])
    back = b.make("arith.extf", value.type, [nearest])
    sizes = [b.make("math.absf", value.type, [operand]) for operand in (back, value)]
    is_larger = b.make("arith.cmpf", flag, sizes, predicate=b.predicate(b.OGT))
    is_other = b.make("arith.cmpf", flag, [back, value], predicate=b.predicate(b.ONE))
    bits = b.make("arith.bitcast", word, [nearest])
    smaller = b.make("arith.subi", word, [bits, b.make("arith.extui", word, [is_larger])])
    odd = b.make("arith.ori", word, [smaller, b.number(1, word)])
    return b.make("arith.bitcast", single, [b.make("arith.select", word, [is_other, odd, bits])])
