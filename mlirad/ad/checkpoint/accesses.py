"""Which arrays a kernel reads, stores to, and only adds to."""

from __future__ import annotations

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.activity import is_on_activity
from mlirad.dialect.field import AtomicOp, DimOp, is_array, is_atomic, is_load, is_store
from mlirad.dialect.turn import in_turn
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import array_root, functions, has_uses, operations
from mlirad.kernel.array_arguments import copy_of, own_numbers
from mlirad.pipeline.runner import run_pipeline
from mlirad.runtime.kernels.variant import Variant

Array = str | int  # a field's name, or the number of an argument


class Accesses(msgspec.Struct):
    """Arrays with the place of a first access; `added` has those that nothing is done to but
    adding."""

    read: dict[Array, str] = msgspec.field(default_factory=dict)
    stored: dict[Array, str] = msgspec.field(default_factory=dict)
    added: dict[Array, str] = msgspec.field(default_factory=dict)


@in_turn
def accesses_of(variant: Variant) -> Accesses:
    """The accesses of a kernel, or of a piece of one."""
    found = Accesses()
    with context():
        module = _lowered(variant.kernel.module)
        for function in functions(module.operation):
            for op in operations(function):
                _note(op, found)
    for number in own_numbers(variant.kernel):
        for noted in (found.read, found.stored, found.added):
            noted.pop(number, None)
    for array in [array for array in found.added if array in found.read or array in found.stored]:
        found.stored.setdefault(array, found.added.pop(array))
    return found


def _lowered(module: ir.Module) -> ir.Module:
    """A module whose changes of activity are accesses: to what a deactivation clears, too."""
    if not any(map(is_on_activity, operations(module.operation))):
        return module
    with module.operation.location:
        lowered = copy_of(module)
    run_pipeline(lowered.operation, "builtin.module(lower-activity)")
    return lowered


def _note(op: ir.Operation, found: Accesses) -> None:
    arrays = [_name(operand) for operand in op.operands if is_array(operand.type)]
    if not arrays or DimOp.holds(op):
        return
    place = source_location(op.location)
    where = "" if place is None else str(place)
    adds = is_atomic(op) and AtomicOp(op).kind.value == "add"
    for array in arrays:
        if array is None:
            continue
        if adds and not has_uses(op.results[0]):
            found.added.setdefault(array, where)
            continue
        if not is_store(op):
            found.read.setdefault(array, where)
        if not is_load(op):
            found.stored.setdefault(array, where)


def _name(value: ir.Value) -> Array | None:
    """A field's name, the number of an argument, or None for an array of one launch."""
    root = array_root(value)
    if isinstance(root, str):
        return root
    return ir.BlockArgument(root).arg_number if isinstance(root, ir.BlockArgument) else None
