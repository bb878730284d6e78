"""Random draws to integer arithmetic: a hash of launch, iteration and draw (splitmix64, Steele, Lea
and Flood 2014)."""

from mlirad.bindings import ir
from mlirad.dialect.field import RandomOp
from mlirad.ir import build as b
from mlirad.ir.walk import before, operations

_WEYL, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def lower_field_random(root: ir.Operation) -> None:
    """Replace every random draw by a hash of its counters."""
    for op in list(operations(root)):
        if RandomOp.holds(op):
            with before(op):
                bits = _word(0)
                for counter in op.operands:
                    bits = _mix(b.add(_mix_in(bits, counter), _word(_WEYL)))
                op.results[0].replace_all_uses_with(_from_bits(bits, op.results[0].type))
            op.erase()


def _word(value: int) -> ir.Value:
    signed = value - (1 << 64) if value >> 63 else value
    return b.number(signed, b.integer_type(64))


def _mix_in(bits: ir.Value, counter: ir.Value) -> ir.Value:
    return b.xori(bits, b.mul(counter, _word(_SECOND)))


def _mix(bits: ir.Value) -> ir.Value:
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, None)):
        shifted = b.shrui(bits, _word(shift))
        bits = b.xori(bits, shifted)
        if factor is not None:
            bits = b.mul(bits, _word(factor))
    return bits


def _from_bits(bits: ir.Value, type_: ir.Type) -> ir.Value:
    if not b.is_float(type_):
        width = ir.IntegerType(type_).width
        return bits if width == 64 else b.trunci(b.shrui(bits, _word(64 - width)), type_)
    digits = {"f16": 11, "f32": 24, "f64": 53}[str(type_)]
    top = b.shrui(bits, _word(64 - digits))
    return b.mulf(b.uitofp(top, type_), b.number(2.0**-digits, type_))
