"""Locals that one part of a kernel leaves to another, where its parts are launched one by one: they
go through memory that all parts are passed.

A value that one part makes and another uses is stored behind where it is made, and loaded there for
all others. So is a value that was read from memory which a part overwrites before another one uses
it. A cell that several parts use (`field.alloca`) becomes such memory itself. These arguments stand
behind all others; of floats they have a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AllocaOp, array_of, array_type, element_type, is_load
from mlirad.ir import build as b
from mlirad.ir.box import for_each_index
from mlirad.ir.ops import Arith
from mlirad.ir.signature import (
    Attributes,
    function_type,
    parameter_attributes,
    set_signature,
    shared_label,
)
from mlirad.ir.walk import Array, accesses, array_root, before, block_operations, entry_of, has_uses

Parts = list[list[ir.Operation]]  # operations of a kernel's top level that are launched together


def share_locals(function: ir.Operation, launches: Parts) -> None:
    """Pass what parts leave to others through arguments, which come last."""
    uses = _Uses(function, launches)
    cells = [op for op in uses.order if AllocaOp.holds(op) and len(uses.parts_at(op)) > 1]
    values = [
        value for op in uses.order if uses.is_shared(op) for value in op.results if has_uses(value)
    ]
    shared = _SharedLocals(function)
    for cell in cells:
        shared.take_cell(cell)
    for value in values:
        shared.take_value(value)


class _Uses:
    """Uses of a kernel's top-level values by its parts."""

    def __init__(self, function: ir.Operation, launches: Parts) -> None:
        self.order = block_operations(entry_of(function))
        self.place = {op: position for position, op in enumerate(self.order)}
        self.part = {op: number for number, ops in enumerate(launches) for op in ops}
        self.part[self.order[-1]] = max(0, len(launches) - 1)  # which returns
        self.written = {op: _arrays(op, reads=False) for op in self.part}

    def parts_at(self, op: ir.Operation) -> set[int]:
        """The parts that use the results of an operation."""
        return {self.part[user] for user in self.users(op)}

    def users(self, op: ir.Operation) -> set[ir.Operation]:
        """The operations of parts that use the results of another one, directly or through what
        each part computes for itself."""
        users: set[ir.Operation] = set()
        pending = [op]
        while pending:
            for result in pending.pop().results:
                for use in result.uses:
                    user = self._at_top(use.owner.operation)
                    if user not in users:
                        users.add(user)
                        if user not in self.part:
                            pending.append(user)
        return {user for user in users if user in self.part}

    def _at_top(self, op: ir.Operation) -> ir.Operation:
        while op not in self.place:
            assert op.parent is not None
            op = op.parent.operation
        return op

    def is_shared(self, op: ir.Operation) -> bool:
        """Return whether other parts have to be passed the results of an operation."""
        if AllocaOp.holds(op) or not op.results:
            return False
        if op in self.part:
            return bool(self.parts_at(op) - {self.part[op]})
        read = _arrays(op, reads=True)
        last = max((self.place[user] for user in self.users(op)), default=0) if read else 0
        return any(
            self.written[other] & read
            for other in self.order[self.place[op] + 1 : last]
            if other in self.part
        )


def _arrays(op: ir.Operation, *, reads: bool) -> set[Array]:
    """The arrays that an operation, with what is in it, reads or writes."""
    roots = [(inner, root) for inner, root, _ in accesses(op)]
    if field.is_access(op):
        roots.append((op, array_root(field.split_access(op)[0])))
    return {root for inner, root in roots if is_load(inner) == reads}


class _SharedLocals:
    """The arguments by which parts share locals."""

    def __init__(self, function: ir.Operation) -> None:
        self.function, self.entry = function, entry_of(function)

    def take_cell(self, cell: ir.Operation) -> None:
        """Make a local array an argument, which is cleared where it was made."""
        type_ = cell.results[0].type
        argument = self._argument(type_, cell.location)
        if "is_set" not in cell.attributes:
            with before(cell):
                zero, extents = b.number(0, element_type(type_)), array_of(type_)[1]
                for_each_index(
                    [b.index(extent) for extent in extents],
                    lambda indices: field.store(zero, argument, indices),
                )
        cell.results[0].replace_all_uses_with(argument)
        cell.erase()

    def take_value(self, value: ir.OpResult) -> None:
        """Store a value, and load it for all that use it."""
        op, type_, uses = value.owner.operation, value.type, list(value.uses)
        stored = _stored_type(type_)
        argument = self._argument(array_type(stored, []), op.location)
        with ir.InsertionPoint.after(op), op.location:
            field.store(_cast(value, stored), argument)
            loaded = _cast(field.load(argument), type_)
        for use in uses:
            use.owner.operation.operands[use.operand_number] = loaded

    def _argument(self, type_: ir.Type, location: ir.Location) -> ir.Value:
        marks: Sequence[Attributes] = parameter_attributes(self.function)
        label = shared_label(len(marks))
        if b.is_float(element_type(type_)):
            label["field.needs_grad"] = ir.UnitAttr.get()
        argument = self.entry.add_argument(type_, location)
        set_signature(self.function, function_type(self.function).results, [*marks, label])
        return argument


def _stored_type(type_: ir.Type) -> ir.Type:
    """The type of what holds a value in memory."""
    if isinstance(type_, ir.IndexType):
        return b.integer_type(64)
    return b.integer_type(8) if type_ == b.integer_type(1) else type_


def _cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    if value.type == type_:
        return value
    if isinstance(value.type, ir.IndexType) or isinstance(type_, ir.IndexType):
        return b.index_cast(value, type_)
    name = Arith.EXTUI if value.type == b.integer_type(1) else Arith.TRUNCI
    return b.make(name, type_, [value])
