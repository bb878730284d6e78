"""Check at run time that every float written to a field or an array argument is a number.

The bits are looked at, since arithmetic may assume that there are neither NaNs nor infinities.
"""

from mlirad.bindings import ir
from mlirad.dialect.field import split_access, word_type
from mlirad.ir import build as b
from mlirad.ir.rounding import round_like
from mlirad.ir.walk import Array, accesses, array_root, before, functions

_EXPONENT = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}


def insert_finite_checks(root: ir.Operation) -> None:
    """Assert that what is written is neither NaN nor infinite."""
    for function in functions(root):
        name = ir.StringAttr(function.attributes["sym_name"]).value
        for op, array, indices in list(accesses(function)):
            if op.name != "field.load" and b.is_float(op.operands[0].type) and not _is_local(array):
                _check(op, indices, name)


def _is_local(root: Array) -> bool:
    return (
        isinstance(root, ir.Value)
        and not isinstance(root, ir.BlockArgument)
        and root.owner.operation.name == "field.alloca"
    )


def _check(op: ir.Operation, indices: list[ir.Value], kernel: str) -> None:
    block = op.block
    following = list(block.operations)
    place = following[[o.operation for o in following].index(op) + 1].operation
    with before(place), op.location:
        value = op.operands[0]
        if op.name == "field.atomic":
            value = round_like(
                b.combine(ir.StringAttr(op.attributes["kind"]).value, op.results[0], value), op
            )
        root = array_root(split_access(op)[0])
        what = f"field '{root}'" if isinstance(root, str) else "an array argument"
        holes = f"[{', '.join('{}' for _ in indices)}]" if indices else ""
        message = f"(kernel={kernel}) {what}{holes} becomes {{g}}, which is not a finite number"
        words = [b.make("field.spell", word_type(), [v]) for v in (*indices, value)]
        b.effect("field.assert", [_is_finite(value), *words], message=ir.StringAttr.get(message))


def _is_finite(value: ir.Value) -> ir.Value:
    width = ir.FloatType(value.type).width
    bits = b.integer_type(width)
    mask = b.number(_EXPONENT[width], bits)
    raw = b.make("arith.bitcast", bits, [value])
    return b.compare(b.NE, b.make("arith.andi", bits, [raw, mask]), mask)
