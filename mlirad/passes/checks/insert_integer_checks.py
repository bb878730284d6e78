"""Check at run time what `insert-integer-guards` guarded: a division that has no value and a loop
that has no end are reported."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.marks.guarded import GUARDED
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import symbol_of
from mlirad.ir.structured import is_for, is_parallel
from mlirad.ir.walk import before, defining_op, functions, operations


def insert_integer_checks(module: ir.Operation) -> None:
    """Assert that integer divisions have a value and that loops have a positive step, unless this
    is known."""
    for function in functions(module):
        kernel = symbol_of(function)
        for op in [op for op in operations(function) if GUARDED in op.attributes]:
            with before(op):
                _check(op, f"(kernel={kernel})")
            del op.attributes[GUARDED]


def _check(op: ir.Operation, kernel: str) -> None:
    if not (is_for(op) or is_parallel(op)):
        _assert_divisor(op, kernel)
        return
    count = 1 if is_for(op) else len(op.regions[0].blocks[0].arguments)
    for step in list(op.operands)[2 * count : 3 * count]:
        _assert_step(step, kernel)


def _assert_divisor(op: ir.Operation, kernel: str) -> None:
    choice = defining_op(op.operands[1])
    if choice is None or choice.name != Arith.SELECT:
        return  # it is a constant by now
    is_bad, _, divisor = choice.operands
    text = f"{kernel} an integer division without a value: {{}} by {{}}"
    field.assert_(_negated(is_bad), text, [op.operands[0], divisor])


def _assert_step(step: ir.Value, kernel: str) -> None:
    choice = defining_op(step)
    if choice is None or choice.name != Arith.SELECT:
        return
    is_forward, distance, _ = choice.operands
    text = f"{kernel} a loop with steps of {{}}, expected at least 1"
    field.assert_(is_forward, text, [distance])


def _negated(condition: ir.Value) -> ir.Value:
    return b.xori(condition, b.number(1, condition.type))
