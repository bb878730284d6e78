"""Complex numbers, as others' programs have them, become pairs of floats.

Behind it no value of a function is a complex number, and no op is of the `complex` dialect: what
is not known here is an error at its line. Memory of complex numbers has floats, and a last axis of
2. Private functions take and give floats. Public ones take `memref<2xf64>
{field.complex_argument}` in the place of `complex<f64>`, and write a number that they give to
`memref<2xf64> {field.complex_result = n}` behind the other arguments, where n is the number that
the result had; memory that they take is `memref<8x2xf64> {field.complex_argument}`. All are the
bytes of NumPy's arrays of complex numbers.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.roles import COMPLEX_RESULT
from mlirad.ir.ops import Arith, Complex, Memref, Ub
from mlirad.ir.split_values.rewriting import Splitting
from mlirad.ir.split_values.scalars import Kind, Rule, Scalars, SplitValues
from mlirad.ir.walk import constant_integer
from mlirad.passes.functions.scalarize_complex.arithmetic import (
    ON_PAIRS,
    TO_SCALARS,
    Pair,
    integer_power,
    power,
)
from mlirad.passes.functions.scalarize_complex.retyping import ARGUMENT, load, retype_memory, store

MOST_FACTORS = 1 << 10  # of a power whose exponent is known


def scalarize_complex(module: ir.Operation) -> None:
    """Replace complex numbers by pairs of floats."""
    retype_memory(module)
    Splitting("scalarize-complex", PAIRS, RULES, _what_is_wrong, dialect="complex").rewrite(module)


def _two(type_: ir.Type) -> int:
    return 2


def _memory_of(type_: ir.Type) -> ir.Type:
    return ir.MemRefType.get([2], ir.ComplexType(type_).element_type)


PAIRS = Kind("complex numbers", ir.ComplexType, _two, _memory_of, ARGUMENT, COMPLEX_RESULT)


def _what_is_wrong(type_: ir.Type) -> str:
    """Return what a type should be, or nothing."""
    if isinstance(type_, ir.ComplexType):
        return "" if b.is_float(type_.element_type) else "complex numbers of floats"
    return "no complex numbers within another type" if "complex<" in str(type_) else ""


def _pairs(op: ir.Operation, split: SplitValues) -> list[Pair]:
    pairs = [split.of(operand) for operand in op.operands]
    return [(pair[0], pair[1]) for pair in pairs]


def _on_pairs(op: ir.Operation, split: SplitValues) -> Scalars:
    """Apply a function from pairs to a pair."""
    return list(ON_PAIRS[op.name](*_pairs(op, split)))


def _to_scalar(op: ir.Operation, split: SplitValues) -> Scalars:
    """Apply a function from pairs to a scalar."""
    return [TO_SCALARS[op.name](*_pairs(op, split))]


def _constant(op: ir.Operation, split: SplitValues) -> Scalars:
    """Return two constants."""
    values = ir.ArrayAttr(op.attributes["value"])
    return [b.make(Arith.CONSTANT, value.type, [], value=value) for value in values]


def _poison(op: ir.Operation, split: SplitValues) -> Scalars:
    """Return zeros: poison may be any number."""
    return [b.number(0.0, type_) for type_ in split.kind.flat_types([op.results[0].type])]


def _select(op: ir.Operation, split: SplitValues) -> Scalars:
    """Choose both parts."""
    condition, *choices = op.operands
    return [b.select(condition, x, y) for x, y in zip(*map(split.of, choices))]


def _powi(op: ir.Operation, split: SplitValues) -> Scalars:
    """Return an integral power: by products if the exponent is known."""
    pair, exponent = op.operands
    real, imaginary = split.of(pair)
    number = constant_integer(exponent)
    if number is not None and abs(number) <= MOST_FACTORS:
        return list(integer_power((real, imaginary), number))
    as_float = b.sitofp(exponent, real.type)
    return list(power((real, imaginary), (as_float, b.number(0.0, real.type))))


RULES: dict[str, Rule] = {
    **dict.fromkeys(ON_PAIRS, _on_pairs),
    **dict.fromkeys(TO_SCALARS, _to_scalar),
    Complex.CONSTANT: _constant,
    Complex.CREATE: lambda op, split: list(op.operands),
    Complex.POWI: _powi,
    Ub.POISON: _poison,
    Arith.SELECT: _select,
    Memref.LOAD: load,
    Memref.STORE: store,
}
