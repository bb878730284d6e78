"""Updates of elements, for `lower-field-to-memref`: plain where nobody else is at the element, else
in one step."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.ops import Memref
from mlirad.ir.reductions import PLAIN_MARK

_KINDS = {
    AtomicKind.ADD: ("addf", "addi"),
    AtomicKind.MUL: ("mulf", "muli"),
    AtomicKind.MIN: ("", "mins"),
    AtomicKind.MAX: ("", "maxs"),
    AtomicKind.MINU: ("", AtomicKind.MINU),
    AtomicKind.MAXU: ("", AtomicKind.MAXU),
    AtomicKind.AND: ("", "andi"),
    AtomicKind.OR: ("", "ori"),
    AtomicKind.XOR: ("", "xori"),
    AtomicKind.EXCHANGE: ("assign", "assign"),
}


def update(op: ir.Operation, memref: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """Return what a `field.atomic` does to an element; gives the value before."""
    kind, value = atomic_kind(op), op.operands[0]
    if PLAIN_MARK in op.attributes:
        old = b.read(memref, indices)
        b.write(round_like(b.combine(kind, old, value), op), memref, indices)
        return old
    name = _KINDS[kind][0 if b.is_float(value.type) else 1]
    if not name or kind in (AtomicKind.MUL, AtomicKind.XOR):
        return _compare_and_swap(op, memref, indices)
    number = ir.Attribute.parse(f"{_RMW_NUMBERS[name]} : i64")
    return b.make(Memref.ATOMIC_RMW, value.type, [value, memref, *indices], kind=number)


# arith::AtomicRMWKind
_RMW_NUMBERS = {
    "addf": 0,
    "addi": 1,
    "andi": 2,
    "assign": 3,
    "maximumf": 4,
    "maxnumf": 5,
    "maxs": 6,
    AtomicKind.MAXU: 7,
    "minimumf": 8,
    "minnumf": 9,
    "mins": 10,
    AtomicKind.MINU: 11,
    "mulf": 12,
    "muli": 13,
    "ori": 14,
    "xori": 15,
}


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
