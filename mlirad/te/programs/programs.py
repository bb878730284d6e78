"""Functions of tensors, as IR: the definitions that some tensors need, in a module of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.dialect import context, te
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation, TaichiTypeError
from mlirad.ir import build as b
from mlirad.ir.ops import Func
from mlirad.ir.te_regions import Copier, erase_unused
from mlirad.ir.walk import block_operations, captured_values, owner_operation
from mlirad.te.definitions.size_needs import SizeNeed, needs_of
from mlirad.te.expressions import Size
from mlirad.te.places import location, place
from mlirad.te.programs.plans import NO_PLANS, Plans
from mlirad.te.tensor import Tensor


@dataclass(frozen=True)
class TensorModule:
    """A module with one function of tensors and sizes; `needs` are conditions on the sizes."""

    module: ir.Module
    name: str
    outputs: Sequence[Tensor]
    inputs: Sequence[Tensor]
    sizes: Sequence[str]
    needs: Sequence[SizeNeed]
    at: SourceLocation


@in_turn
def module_of(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    name: str,
    at: SourceLocation,
    first_sizes: Sequence[str] = (),
    plans: Plans = NO_PLANS,
) -> TensorModule:
    """Return a module with one function of the inputs and of sizes: `first_sizes`, the extents of
    inputs, and others that definitions use. `plans` say how to compute."""
    needed = _ops_between([tensor.value for tensor in outputs], {tensor.value for tensor in inputs})
    plans.check(needed, outputs, inputs)
    ops = {te.SizeOp(op).label.value: op for op in needed if te.SizeOp.holds(op)}
    extents = [e.name for tensor in inputs for e in tensor.shape if isinstance(e, Size)]
    sizes = list(dict.fromkeys([*first_sizes, *extents, *ops]))
    with context(), location(at):
        module = ir.Module.create()
        i64 = b.integer_type(64)
        types = [*(tensor.value.type for tensor in inputs), *(i64 for _ in sizes)]
        with ir.InsertionPoint(module.body):
            function = _function(name, types, [tensor.value.type for tensor in outputs])
        entry = b.block(function, 0, types)
        arguments = list(entry.arguments)
        with ir.InsertionPoint(entry):
            of: dict[ir.Value, ir.Value] = {
                tensor.value: argument for tensor, argument in zip(inputs, arguments)
            }
            for size, argument in zip(sizes, arguments[len(inputs) :]):
                if size in ops:
                    index = b.to_index(argument)
                    of[ops[size].results[0]] = index
            copier = Copier(of)
            for op in needed:
                if op.results[0] not in of:
                    _copy(op, copier)
                    plans.write(op, copier.value(op.results[0]))
            results = copier.values([tensor.value for tensor in outputs])
            b.return_(results)
    return TensorModule(module, name, outputs, inputs, sizes, needs_of(needed, sizes), at)


def _function(name: str, types: Sequence[ir.Type], results: Sequence[ir.Type]) -> ir.Operation:
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(types), list(results))),
    }
    return ir.Operation.create(Func.FUNC, [], [], attributes, regions=1)


def _copy(op: ir.Operation, copier: Copier) -> None:
    if te.PlaceholderOp.holds(op):
        raise TaichiTypeError(
            f"build: tensor '{te.PlaceholderOp(op).label.value}' is needed, but is not among the "
            "inputs",
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
    ops = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block_operations(block):
                ops += [inner, *_inside(inner)]
    return ops


def _ops_between(outputs: Sequence[ir.Value], inputs: set[ir.Value]) -> list[ir.Operation]:
    """The ops that define what is wanted, each behind those that it uses."""
    ordered = dict[ir.Operation, None]()
    pending = [(owner_operation(v), False) for v in reversed(outputs) if v not in inputs]
    while pending:
        op, is_done = pending.pop()
        if is_done:
            ordered[op] = None
        elif op not in ordered:
            pending.append((op, True))
            erase_unused(op)
            used = [*op.operands, *(captured_values(op) if len(op.regions) else [])]
            pending += [(owner_operation(value), False) for value in used if value not in inputs]
    return list(ordered)
