"""Functions in IR that are nothing but definitions, as those that a program defines."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbol_of
from mlirad.ir.te_regions import erase_unused
from mlirad.ir.walk import block_operations, clone, entry_of, owner_operation
from mlirad.te.definitions.compute import placeholder
from mlirad.te.emission import dtype_of_type
from mlirad.te.graph import graph
from mlirad.te.programs.programs import TensorModule, module_of
from mlirad.te.tensor import Tensor


@in_turn
def module_of_function(function: ir.Operation) -> TensorModule:
    """Return what a function of tensors gives, whose extents its types say, as a module of the
    program: with derivatives."""
    at = _place(function)
    entry, definitions = entry_of(function), graph()
    tensors: dict[ir.Value, Tensor] = {}
    for number, argument in enumerate(entry.arguments):
        type_ = ir.RankedTensorType(argument.type)
        dtype = dtype_of_type(type_.element_type)
        tensors[argument] = placeholder(tuple(type_.shape), dtype, f"argument{number}")
    *ops, end = block_operations(entry)
    values: dict[ir.Value, ir.Value] = {argument: t.value for argument, t in tensors.items()}
    for op in ops:
        result = op.results[0]
        with definitions.defining(_place(op)):
            clone(op, values)
            erase_unused(owner_operation(values[result]))
        tensors[result] = definitions.add_tensor(_tensor(op, values[result]))
    inputs = [tensors[argument] for argument in entry.arguments]
    return module_of([tensors[value] for value in end.operands], inputs, symbol_of(function), at)


def _tensor(op: ir.Operation, value: ir.Value) -> Tensor:
    type_ = ir.RankedTensorType(value.type)
    dtype = dtype_of_type(type_.element_type)
    return Tensor(value, tuple(type_.shape), dtype, te.label_of(op), _place(op))


def _place(op: ir.Operation) -> SourceLocation:
    return source_location(op.location) or SourceLocation("unknown", 1, 1)
