"""Prints of numbers, one by one."""

from __future__ import annotations

import re

from mlirad.bindings import ir
from mlirad.dialect.field import number_behind
from mlirad.ir import build as b
from mlirad.ir.c_print import print_text
from mlirad.ir.ops import Gpu
from mlirad.ir.walk import before


def print_on_gpu(op: ir.Operation) -> None:
    """A print as `gpu.printf`."""
    _ = op.context.dialects["gpu"]  # which loads it
    text, values = _c_format(op)
    with before(op):
        b.effect(
            Gpu.PRINTF,
            [_promote(v, unsigned) for v, unsigned in values],
            format=ir.StringAttr.get(text),
        )
    op.erase()


def print_on_cpu(module: ir.Operation, prints: list[ir.Operation]) -> None:
    """Prints as calls of C's `printf`, each with a text of its own."""
    for number, op in enumerate(prints):
        with before(op):
            text, values = _c_format(op)
            arguments = [_promote(v, unsigned) for v, unsigned in values]
            print_text(module, f"print.{number}", text, arguments)
        op.erase()


def _c_format(op: ir.Operation) -> tuple[str, list[tuple[ir.Value, bool]]]:
    values: list[tuple[ir.Value, bool]] = []
    operands = iter(op.operands)

    def replace_hole(match: re.Match[str]) -> str:
        value = number_behind(next(operands))
        spec = match.group(1)
        unsigned = spec.endswith("u")
        values.append((value, unsigned))
        spec = spec.removesuffix("u").lstrip(":")
        if b.is_float(value.type):
            return "%f" if not spec else f"%{spec}" if spec[-1] in "eEfFgGaA" else f"%{spec}f"
        return f"%{spec.rstrip('di')}{'llu' if unsigned else 'lld'}"

    text = ir.StringAttr(op.attributes["format"]).value.replace("%", "%%")
    return re.sub(r"\{([^}]*)\}", replace_hole, text).replace("\1", "{").replace("\2", "}"), values


def _promote(value: ir.Value, unsigned: bool) -> ir.Value:
    """A value as C's variadic functions take it: double or 64 bits."""
    if b.is_float(value.type):
        f64 = ir.F64Type.get()
        return value if value.type == f64 else b.extf(value, f64)
    i64 = b.integer_type(64)
    if value.type == i64:
        return value
    if isinstance(value.type, ir.IndexType):
        return b.index_cast(value, i64)
    is_unsigned = unsigned or ir.IntegerType(value.type).width == 1
    return (b.extui if is_unsigned else b.extsi)(value, i64)
