"""Check at run time that every float written to a field or an array argument is a number.

The bits are looked at, since arithmetic may assume that there are neither NaNs nor infinities.
"""

from mlirad.bindings import ir
from mlirad.dialect.field import (
    AllocaOp,
    assert_,
    atomic_kind,
    is_atomic,
    is_load,
    spell,
    split_access,
)
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import Array, accesses, array_root, behind, functions

_EXPONENT = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}


def insert_finite_checks(root: ir.Operation) -> None:
    """Assert that no written float is NaN or infinite."""
    for function in functions(root):
        name = symbol_of(function)
        for op, array, indices in list(accesses(function)):
            if not is_load(op) and b.is_float(op.operands[0].type) and not _is_local(array):
                _check(op, indices, name)


def _is_local(root: Array) -> bool:
    return (
        isinstance(root, ir.Value)
        and not isinstance(root, ir.BlockArgument)
        and AllocaOp.holds(root.owner.operation)
    )


def _check(op: ir.Operation, indices: list[ir.Value], kernel: str) -> None:
    with behind(op):
        value = op.operands[0]
        if is_atomic(op):
            value = round_like(b.combine(atomic_kind(op), op.results[0], value), op)
        root = array_root(split_access(op)[0])
        target = f"field '{root}'" if isinstance(root, str) else "an array argument"
        holes = f"[{', '.join('{}' for _ in indices)}]" if indices else ""
        message = f"(kernel={kernel}) {target}{holes} becomes {{g}}, which is not a finite number"
        words = [spell(v) for v in (*indices, value)]
        assert_(_is_finite(value), message, words)


def _is_finite(value: ir.Value) -> ir.Value:
    width = ir.FloatType(value.type).width
    bits = b.integer_type(width)
    mask = b.number(_EXPONENT[width], bits)
    raw = b.bitcast(value, bits)
    return b.compare(b.NE, b.andi(raw, mask), mask)
