"""Casts of double to 16 bits, f16 or bf16, by way of single precision, which processors or
`arith-expand` have instructions for; C's function for the whole way may be missing.

The first cast rounds to odd, so that the second rounds as one of the whole way does (Boldo and
Melquiond 2008, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
odd").
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.walk import before, operations


def lower_half_casts(root: ir.Operation) -> None:
    """Lower casts from f64 to f16 and bf16 by way of f32, also those of vectors."""
    double = ir.F64Type.get(root.context)
    narrow = (ir.F16Type.get(root.context), ir.BF16Type.get(root.context))
    for op in [op for op in operations(root) if op.name == Arith.TRUNCF]:
        source, result = (b.element_of(value.type) for value in (op.operands[0], op.results[0]))
        if source == double and result in narrow:
            with before(op):
                op.operands[0] = _to_odd(op.operands[0])


def _to_odd(value: ir.Value) -> ir.Value:
    """A number of single precision: the same, or of the two beside it the one whose last bit
    is 1."""
    single = b.with_element(value.type, ir.F32Type.get())
    word = b.with_element(value.type, b.integer_type(32))
    nearest = b.truncf(value, single)
    back = b.extf(nearest, value.type)
    is_larger = b.compare_floats(b.OGT, b.absf(back), b.absf(value))
    is_other = b.compare_floats(b.ONE, back, value)
    bits = b.bitcast(nearest, word)
    smaller = b.sub(bits, b.extui(is_larger, word))
    odd = b.ori(smaller, b.number(1, word))
    return b.bitcast(b.select(is_other, odd, bits), single)
