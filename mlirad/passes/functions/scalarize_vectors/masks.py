"""Masks, and ops under masks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Vector
from mlirad.ir.requirements import refuse
from mlirad.ir.split_values.scalars import Rule, Scalars, SplitValues
from mlirad.ir.walk import block_operations
from mlirad.passes.functions.scalarize_vectors.elements import (
    MaskedRule,
    choose,
    integers,
    positions,
    shape_of,
)
from mlirad.passes.functions.scalarize_vectors.memory import MASKABLE as TRANSFERS
from mlirad.passes.functions.scalarize_vectors.memory import mask_numbers
from mlirad.passes.functions.scalarize_vectors.reducing import MASKABLE as REDUCTIONS

MASKABLE: Mapping[str, MaskedRule] = {**REDUCTIONS, **TRANSFERS}
_LANE_BY_LANE = (Vector.GATHER, Vector.OUTERPRODUCT)  # a bit of the mask for each of the result


def create_mask(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return bits that are set in a box whose extents are known when the program runs."""
    shape = shape_of(op.results[0].type)
    bits = [
        [b.compare(b.SLT, b.index(number), extent) for number in range(size)]
        for size, extent in zip(shape or [1], op.operands, strict=True)
    ]
    if not shape:
        return bits[0]
    return [b.all_of([row[p] for row, p in zip(bits, at)]) for at in positions(shape)]


def constant_mask(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return bits that are set in a box."""
    shape, extents = shape_of(op.results[0].type), integers(op, "mask_dim_sizes")
    on, off = [b.number(bit, b.integer_type(1)) for bit in (1, 0)]
    if not shape:
        return [on if extents[0] else off]
    return [
        on if all(p < extent for p, extent in zip(at, extents, strict=True)) else off
        for at in positions(shape)
    ]


def step(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return the numbers from 0."""
    return [b.index(number) for number in range(shape_of(op.results[0].type)[0])]


def masked_region(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Apply a mask to the op inside; what it leaves out is the passthru, if there is one."""
    mask, *other = [vectors.of(operand) for operand in op.operands]
    *masked, end = block_operations(op.regions[0].blocks[0])
    if not masked:
        values = vectors.flatten(list(end.operands))
        return _chosen(mask, values, other[0]) if other else values
    (inner,) = masked
    if inner.name not in MASKABLE:
        refuse(inner, f"'{inner.name}' under a mask, which scalarize-vectors does not know")
    values = MASKABLE[inner.name](inner, vectors, mask)
    return _chosen(_lane_mask(inner, mask), values, other[0]) if other else values


def _lane_mask(inner: ir.Operation, mask: Scalars) -> Scalars:
    """Return the bit for each element of the result of a masked op."""
    if inner.name == Vector.TRANSFER_READ:
        return [mask[n] for n in mask_numbers(inner, shape_of(inner.results[0].type))]
    if inner.name not in _LANE_BY_LANE:
        refuse(inner, f"'{inner.name}' under a mask with other values for what it leaves out")
    return mask


def _chosen(mask: Scalars, values: Scalars, other: Scalars) -> Scalars:
    return [choose(*lane) for lane in zip(mask, values, other, strict=True)]


def _unmasked(rule: MaskedRule, op: ir.Operation, vectors: SplitValues) -> Scalars:
    return rule(op, vectors, None)


RULES: dict[str, Rule] = {
    Vector.CREATE_MASK: create_mask,
    Vector.CONSTANT_MASK: constant_mask,
    Vector.STEP: step,
    Vector.MASK: masked_region,
    **{name: partial(_unmasked, rule) for name, rule in MASKABLE.items()},
}
