"""Sums, products and other combinations of the elements of vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import inf, prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Vector
from mlirad.ir.requirements import refuse
from mlirad.ir.split_values.scalars import Rule, Scalars, SplitValues
from mlirad.passes.functions.scalarize_vectors.elements import (
    MaskedRule,
    Position,
    choose,
    integers,
    number_of,
    positions,
    shape_of,
    zero,
)

_OF_INTEGERS = {
    "add": Arith.ADDI,
    "mul": Arith.MULI,
    "minui": Arith.MINUI,
    "minsi": Arith.MINSI,
    "maxui": Arith.MAXUI,
    "maxsi": Arith.MAXSI,
    "and": Arith.ANDI,
    "or": Arith.ORI,
    "xor": Arith.XORI,
}
_OF_FLOATS = {
    "add": Arith.ADDF,
    "mul": Arith.MULF,
    "minnumf": Arith.MINNUMF,
    "maxnumf": Arith.MAXNUMF,
    "minimumf": Arith.MINIMUMF,
    "maximumf": Arith.MAXIMUMF,
}
_NEUTRAL_FLOATS = {
    "add": -0.0,
    "mul": 1.0,
    "minnumf": inf,
    "minimumf": inf,
    "maxnumf": -inf,
    "maximumf": -inf,
}


def _kind_of(op: ir.Operation) -> str:
    match = re.search(r"<(\w+)>", str(op.attributes["kind"]))
    assert match is not None
    return match.group(1)


def _combine(kind: str, a: ir.Value, c: ir.Value) -> ir.Value:
    names = _OF_FLOATS if b.is_float(a.type) else _OF_INTEGERS
    return b.make(names[kind], a.type, [a, c])


def _neutral(kind: str, type_: ir.Type) -> ir.Value:
    """Return what changes no number that it is combined with."""
    if b.is_float(type_):
        return b.number(_NEUTRAL_FLOATS[kind], type_)
    width = type_.width if isinstance(type_, ir.IntegerType) else 64
    highest = (1 << width - 1) - 1
    numbers = {"mul": 1, "minsi": highest, "maxsi": -highest - 1, "minui": -1, "and": -1}
    return b.number(numbers.get(kind, 0), type_)


def _accumulate(kind: str, total: ir.Value, term: ir.Value, bit: ir.Value | None) -> ir.Value:
    combined = _combine(kind, total, term)
    return combined if bit is None else choose(bit, combined, total)


def reduction(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Combine all elements with what there is to begin with."""
    kind, terms = _kind_of(op), vectors.of(op.operands[0])
    bits: Sequence[ir.Value | None] = mask or [None] * len(terms)
    if len(op.operands) > 1:
        total = op.operands[1]
    elif mask is None:
        total, terms, bits = terms[0], terms[1:], bits[1:]
    else:
        total = _neutral(kind, terms[0].type)
    for term, bit in zip(terms, bits, strict=True):
        total = _accumulate(kind, total, term, bit)
    return [total]


def multi_reduction(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Combine the elements along some axes."""
    source, start = op.operands
    kind, shape, reduced = _kind_of(op), shape_of(source.type), integers(op, "reduction_dims")
    axes = [axis for axis in range(len(shape)) if axis not in reduced]
    totals = list(vectors.of(start))
    for number, (position, term) in enumerate(zip(positions(shape), vectors.of(source))):
        place = number_of([position[axis] for axis in axes], [shape[axis] for axis in axes])
        totals[place] = _accumulate(kind, totals[place], term, mask[number] if mask else None)
    return totals


def contract(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Combine products of elements along the axes that the result does not have."""
    maps = [_axes_of(op, attribute) for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]
    shapes = [shape_of(value.type) for value in op.operands]
    extents = dict(axis for pair in zip(maps, shapes) for axis in zip(*pair, strict=True))
    space = [extents[axis] for axis in range(len(extents))]
    left, right, totals = [list(vectors.of(value)) for value in op.operands]
    for number, position in enumerate(positions(space)):
        x, y, z = [
            number_of([position[axis] for axis in axes], shape)
            for axes, shape in zip(maps, shapes, strict=True)
        ]
        product = _combine("mul", *(_widened(e, totals[z].type) for e in (left[x], right[y])))
        bit = mask[number] if mask else None
        totals[z] = _accumulate(_kind_of(op), totals[z], product, bit)
    return totals


def _axes_of(op: ir.Operation, attribute: ir.Attribute) -> list[int]:
    results = ir.AffineMapAttr(attribute).value.results
    if not all(isinstance(result, ir.AffineDimExpr) for result in results):
        refuse(op, f"'{op.name}' along {attribute}, expected axes")
    return [ir.AffineDimExpr(result).position for result in results]


def _widened(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Convert a factor to the type of the sum."""
    if value.type == type_:
        return value
    return b.extf(value, type_) if b.is_float(type_) else b.extsi(value, type_)


def outerproduct(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Return the products of all pairs of elements, combined with what there is to begin with."""
    left, right, *start = [vectors.of(value) for value in op.operands]
    products = [_combine("mul", x, y) for x in left for y in right]
    bits: Sequence[ir.Value | None] = mask or [None] * len(products)
    if start:
        terms = zip(start[0], products, bits, strict=True)
        return [_accumulate(_kind_of(op), total, term, bit) for total, term, bit in terms]
    masked = zip(products, bits, strict=True)
    return [p if bit is None else choose(bit, p, zero(p.type)) for p, bit in masked]


def scan(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return running sums along an axis, and the last ones."""
    source, start = op.operands
    shape, axis, elements = shape_of(source.type), _axis_of(op), vectors.of(source)
    is_inclusive, kind = ir.BoolAttr(op.attributes["inclusive"]).value, _kind_of(op)
    result, totals = list(elements), list(vectors.of(start))
    for position in _along(axis, shape):
        place = number_of(_without(position, axis), _without(shape, axis))
        number = number_of(position, shape)
        if position[axis] == 0:
            total = elements[number] if is_inclusive else totals[place]
        else:
            previous = number if is_inclusive else number - prod(shape[axis + 1 :])
            total = _combine(kind, totals[place], elements[previous])
        result[number] = totals[place] = total
    return result + totals


def _axis_of(op: ir.Operation) -> int:
    """Return the axis of a scan."""
    return ir.IntegerAttr(op.attributes["reduction_dim"]).value


def _along(axis: int, shape: Sequence[int]) -> Iterable[Position]:
    return sorted(positions(shape), key=lambda position: position[axis])


def _without(numbers: Sequence[int], axis: int) -> list[int]:
    return [*numbers[:axis], *numbers[axis + 1 :]]


MASKABLE: dict[str, MaskedRule] = {
    Vector.REDUCTION: reduction,
    Vector.MULTI_REDUCTION: multi_reduction,
    Vector.CONTRACT: contract,
    Vector.OUTERPRODUCT: outerproduct,
}
RULES: dict[str, Rule] = {Vector.SCAN: scan}
