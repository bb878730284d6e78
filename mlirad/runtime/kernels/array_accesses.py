"""Arrays that a kernel reads, stores to, and only adds to."""

from __future__ import annotations

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.activity import is_on_activity
from mlirad.dialect.field import DimOp, atomic_kind, is_array, is_atomic, is_load, is_store
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import array_root, functions, has_uses, operations
from mlirad.kernel.array_arguments import copy_of, own_numbers
from mlirad.kernel.module import KernelModule
from mlirad.pipeline.runner import run_pipeline

Array = str | int  # a field's name, or the number of an argument


class ArrayAccesses(msgspec.Struct):
    """Arrays with the place of a first access; `added` has those that nothing is done to but
    adding."""

    read: dict[Array, str] = msgspec.field(default_factory=dict)
    stored: dict[Array, str] = msgspec.field(default_factory=dict)
    added: dict[Array, str] = msgspec.field(default_factory=dict)


def array_accesses(kernel: KernelModule) -> ArrayAccesses:
    """Return the accesses of a kernel, or of a part of one."""
    accesses = ArrayAccesses()
    read, stored, added = accesses.read, accesses.stored, accesses.added
    with context():
        module = _lower_activity(kernel.module)
        for function in functions(module.operation):
            for op in operations(function):
                _note(op, accesses)
    for number in own_numbers(kernel):
        for places in (read, stored, added):
            places.pop(number, None)
    for array in [array for array in added if array in read or array in stored]:
        stored.setdefault(array, added.pop(array))
    return accesses


def _lower_activity(module: ir.Module) -> ir.Module:
    """Return a module whose changes of activity, and what a deactivation clears, are accesses."""
    if not any(map(is_on_activity, operations(module.operation))):
        return module
    with module.operation.location:
        lowered = copy_of(module)
    run_pipeline(lowered.operation, "builtin.module(lower-activity)")
    return lowered


def _note(op: ir.Operation, accesses: ArrayAccesses) -> None:
    arrays = [_name(operand) for operand in op.operands if is_array(operand.type)]
    if not arrays or DimOp.holds(op):
        return
    location = source_location(op.location)
    place = "" if location is None else str(location)
    adds = is_atomic(op) and atomic_kind(op) == "add"
    for array in arrays:
        if array is None:
            continue
        if adds and not has_uses(op.results[0]):
            accesses.added.setdefault(array, place)
            continue
        if not is_store(op):
            accesses.read.setdefault(array, place)
        if not is_load(op):
            accesses.stored.setdefault(array, place)


def _name(value: ir.Value) -> Array | None:
    """A field's name, the number of an argument, or None for an array of one launch."""
    root = array_root(value)
    if isinstance(root, str):
        return root
    return ir.BlockArgument(root).arg_number if isinstance(root, ir.BlockArgument) else None
