"""`te.build`: tensors compiled to a function of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import context, te
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.ir import build as b
from mlirad.ir.te_regions import Copier, erase_unused
from mlirad.ir.walk import block_operations, captured, owner_operation
from mlirad.te.built import Built
from mlirad.te.places import location, place
from mlirad.te.tensor import Tensor


def build(outputs: Any, inputs: Sequence[Tensor], name: str = "tensors") -> Built:
    """A function that takes an array for each input and gives one for each output.

    A call takes NumPy's and torch's arrays and `ti.ndarray`s, and gives NumPy arrays, or what
    `out=` names. Raises TaichiTypeError where outputs are made of a placeholder that is no input.
    """
    wanted = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    for one in [*wanted, *inputs]:
        if not isinstance(one, Tensor):
            raise TaichiTypeError(f"a {type(one).__name__} is no tensor", place())
    given = {one.value: k for k, one in enumerate(inputs)}
    if len(given) < len(inputs):
        raise TaichiTypeError("an input is named twice", place())
    module, sizes = _function(wanted, list(inputs), name)
    return Built(module, name, wanted, list(inputs), sizes, isinstance(outputs, tuple | list))


@in_turn
def _function(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], name: str
) -> tuple[ir.Module, list[str]]:
    """A module with one function of the inputs and of sizes, whose names are given too."""
    needed = _needed([one.value for one in outputs], {one.value for one in inputs})
    sizes = [op for op in needed if te.SizeOp.holds(op)]
    with context(), location(place()):
        module = ir.Module.create()
        i64 = b.integer_type(64)
        types = [*(one.value.type for one in inputs), *(i64 for _ in sizes)]
        results = [one.value.type for one in outputs]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                [],
                [],
                {
                    "sym_name": ir.StringAttr.get(name),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
                },
                regions=1,
            )
        locations = [ir.Location.current] * len(types)
        entry = ir.Block.create_at_start(function.regions[0], types, locations)
        arguments = list(entry.arguments)
        with ir.InsertionPoint(entry):
            of: dict[ir.Value, ir.Value] = {
                one.value: argument for one, argument in zip(inputs, arguments)
            }
            for op, argument in zip(sizes, arguments[len(inputs) :]):
                of[op.results[0]] = b.make("arith.index_cast", b.index_type(), [argument])
            copier = Copier(of)
            for op in needed:
                if op.results[0] not in of:
                    _copy(op, copier)
            given = copier.values([one.value for one in outputs])
            ir.Operation.create("func.return", [], given)
    return module, [te.SizeOp(op).label.value for op in sizes]


def _copy(op: ir.Operation, copier: Copier) -> None:
    if te.PlaceholderOp.holds(op):
        raise TaichiTypeError(
            f"tensor '{te.PlaceholderOp(op).label.value}' is needed, and is not among the inputs",
            place(),
        )
    if not len(op.regions):
        copier.op(op)
        return
    with op.location:
        copied = op.clone()
    for inner in [copied, *_inside(copied)]:
        for position, operand in enumerate(list(inner.operands)):
            inner.operands[position] = copier.value(operand)
    copier[op.results[0]] = copied.results[0]


def _inside(op: ir.Operation) -> list[ir.Operation]:
    found = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block_operations(block):
                found += [inner, *_inside(inner)]
    return found


def _needed(wanted: Sequence[ir.Value], given: set[ir.Value]) -> list[ir.Operation]:
    """The ops that define what is wanted, each behind those that it uses."""
    found = dict[ir.Operation, None]()
    pending = [(owner_operation(value), False) for value in reversed(wanted) if value not in given]
    while pending:
        op, is_done = pending.pop()
        if is_done:
            found[op] = None
        elif op not in found:
            pending.append((op, True))
            erase_unused(op)
            used = [*op.operands, *(captured(op) if len(op.regions) else [])]
            pending += [(owner_operation(value), False) for value in used if value not in given]
    return list(found)
