"""Ops whose result is the op of the elements, and constants."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Math, Ub, Vector
from mlirad.ir.requirements import refuse
from mlirad.ir.split_values.scalars import Rule, Scalars, SplitValues
from mlirad.ir.walk import attributes_of
from mlirad.passes.functions.scalarize_vectors.elements import (
    count,
    is_vector,
    zero,
)

_OTHERS = (Arith.CONSTANT,)


def is_elementwise(op: ir.Operation) -> bool:
    """Return whether an op does the same with each element."""
    return op.name.startswith(("arith.", "math.")) and op.name not in _OTHERS


def elementwise(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return the results of the op on the first elements, on the second, and so on; an operand
    that is a scalar (the condition of a select) is that of all."""
    sizes = {count(value.type) for value in (*op.operands, *op.results) if is_vector(value.type)}
    assert len(sizes) == 1, op.name
    operands = [vectors.of(value) for value in op.operands]
    lanes = [
        of_elements(op, [e[lane] if len(e) > 1 else e[0] for e in operands])
        for lane in range(sizes.pop())
    ]
    return [result for results in zip(*lanes, strict=True) for result in results]


def of_elements(op: ir.Operation, operands: Sequence[ir.Value]) -> Scalars:
    """Make an op of one element of each of its operands."""
    types = [b.element_of(result.type) for result in op.results]
    return list(ir.Operation.create(op.name, types, operands, attributes_of(op)).results)


def constant(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return a constant for each element, or one for all."""
    attributes = constant_elements(op)
    values = {
        text: b.make(Arith.CONSTANT, attribute.type, [], value=attribute)
        for text, attribute in {str(attribute): attribute for attribute in attributes}.items()
    }
    return [values[str(attribute)] for attribute in attributes]


def constant_elements(op: ir.Operation) -> list[ir.Attribute]:
    """Return the numbers of a constant."""
    attribute, type_ = op.attributes["value"], op.results[0].type
    if not isinstance(attribute, ir.DenseFPElementsAttr | ir.DenseIntElementsAttr):
        refuse(op, f"'{op.name}' of {type_} whose numbers are not in its text")
    if attribute.is_splat:
        return [attribute.get_splat_value()] * count(type_)
    return _numbers(op, attribute, b.element_of(type_))


def _numbers(
    op: ir.Operation,
    attribute: ir.DenseFPElementsAttr | ir.DenseIntElementsAttr,
    element: ir.Type,
) -> list[ir.Attribute]:
    try:
        numbers = [attribute[number] for number in range(len(attribute))]
    except TypeError:  # the bindings do not read numbers of this width
        return _parsed_numbers(op, attribute, element)
    if isinstance(element, ir.FloatType):
        return [ir.FloatAttr.get(element, number) for number in numbers]
    return [ir.IntegerAttr.get(element, _signed(int(number))) for number in numbers]


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _parsed_numbers(
    op: ir.Operation, attribute: ir.DenseElementsAttr, element: ir.Type
) -> list[ir.Attribute]:
    text = str(attribute).removeprefix("dense<").partition(">")[0]
    if '"' in text:
        refuse(op, f"'{op.name}' of this many numbers of {element}")
    return [ir.Attribute.parse(f"{word} : {element}") for word in re.findall(r"[^][,\s]+", text)]


def poison(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return zeros: poison may be any number."""
    type_ = op.results[0].type
    return [zero(b.element_of(type_))] * count(type_)


def fma(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return products and sums that are rounded once."""
    return [b.make(Math.FMA, xyz[0].type, xyz) for xyz in zip(*map(vectors.of, op.operands))]


RULES: dict[str, Rule] = {
    Arith.CONSTANT: constant,
    Ub.POISON: poison,
    Vector.FMA: fma,
}
