"""Comparison and conversion of values in the scalar types of programs, the same in both frontends:
MLIR's integers have no sign."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build
from mlirad.types import DataType

# predicates of signed integers, unsigned ones and floats
_PREDICATES = {
    "==": (build.EQ, build.EQ, build.OEQ),
    "!=": (build.NE, build.NE, build.UNE),
    "<": (build.SLT, build.ULT, build.OLT),
    "<=": (build.SLE, build.ULE, build.OLE),
    ">": (build.SGT, build.UGT, build.OGT),
    ">=": (build.SGE, build.UGE, build.OGE),
}


def compare(symbol: str, a: ir.Value, b: ir.Value, dtype: DataType) -> ir.Value:
    """A comparison, as `i1`."""
    signed, unsigned, ordered = _PREDICATES[symbol]
    if not dtype.is_float:
        return build.compare(signed if dtype.is_signed else unsigned, a, b)
    return build.compare_floats(ordered, a, b)


def convert(value: ir.Value, source: DataType, target: DataType, type_: ir.Type) -> ir.Value:
    """A number in another type than `u1`, spelt `type_` in MLIR, as C converts it."""
    if source.is_float and target.is_float:
        conversion = build.extf if target.bits > source.bits else build.truncf
    elif source.is_float:
        conversion = build.fptosi if target.is_signed else build.fptoui
    elif target.is_float:
        conversion = build.sitofp if source.is_signed else build.uitofp
    elif target.bits == source.bits:
        return value
    elif target.bits < source.bits:
        conversion = build.trunci
    else:
        conversion = build.extsi if source.is_signed else build.extui
    return conversion(value, type_)
