"""Updates of elements, for `lower-field-to-memref`: plain where nobody else is at the element, else
in one step."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind
from mlirad.ir import build as b
from mlirad.ir.marks.alignment import alignment_of
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.ops import Memref
from mlirad.ir.reductions import PLAIN_MARK


class _RmwKind:
    """Kinds of `memref.atomic_rmw` that are one instruction, by their numbers in
    `arith::AtomicRMWKind`."""

    ADDF, ADDI, ANDI, ASSIGN, MAXS, MAXU, MINS, MINU, ORI = 0, 1, 2, 3, 6, 7, 10, 11, 14


_ON_FLOATS = {AtomicKind.ADD: _RmwKind.ADDF, AtomicKind.EXCHANGE: _RmwKind.ASSIGN}
_ON_INTEGERS = {
    AtomicKind.ADD: _RmwKind.ADDI,
    AtomicKind.MIN: _RmwKind.MINS,
    AtomicKind.MAX: _RmwKind.MAXS,
    AtomicKind.MINU: _RmwKind.MINU,
    AtomicKind.MAXU: _RmwKind.MAXU,
    AtomicKind.AND: _RmwKind.ANDI,
    AtomicKind.OR: _RmwKind.ORI,
    AtomicKind.EXCHANGE: _RmwKind.ASSIGN,
}


def update(op: ir.Operation, memref: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """Do in memory what a `field.atomic` does to an element; give the value before."""
    kind, value = atomic_kind(op), op.operands[0]
    if PLAIN_MARK in op.attributes:
        alignment = alignment_of(op)
        old = b.read(memref, indices, **alignment)
        b.write(round_like(b.combine(kind, old, value), op), memref, indices, **alignment)
        return old
    rmw_kind = (_ON_FLOATS if b.is_float(value.type) else _ON_INTEGERS).get(kind)
    if rmw_kind is None:
        return _compare_and_swap(op, memref, indices)
    number = ir.IntegerAttr.get(b.integer_type(64), rmw_kind)
    return b.make(Memref.ATOMIC_RMW, value.type, [value, memref, *indices], kind=number)


def _compare_and_swap(
    update: ir.Operation, memref: ir.Value, indices: Sequence[ir.Value]
) -> ir.Value:
    """An update that no single instruction does: `memref.generic_atomic_rmw`; gives the value
    before."""
    kind, value = atomic_kind(update), update.operands[0]
    type_ = value.type
    op = ir.Operation.create(Memref.GENERIC_ATOMIC_RMW, [type_], [memref, *indices], regions=1)
    block = b.block(op, 0, [type_])
    with ir.InsertionPoint(block):
        b.effect(
            Memref.ATOMIC_YIELD, [round_like(b.combine(kind, block.arguments[0], value), update)]
        )
    return op.results[0]
