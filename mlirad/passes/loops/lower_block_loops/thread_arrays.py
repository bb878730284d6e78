"""Arrays of a block: with an element for each of its threads, and those that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import GROUP, array_of, array_type, element_type, split_access
from mlirad.ir import build as b
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import at_start, before


class Home(NamedTuple):
    """The place at which arrays are created: the start of a block of code, or, with an axis for a
    number of blocks of threads, before an operation."""

    code: ir.Block
    loop: ir.Operation | None = None
    blocks: int = 1
    number: ir.Value | None = None


class ThreadArrays:
    """The arrays of a block of threads of a size."""

    def __init__(self, size: int, home: Home) -> None:
        self._size = -(-size // GROUP) * GROUP  # any thread of a group may be asked for
        self._home = home

    def make(self, type_: ir.Type, op: ir.Operation) -> ir.Value:
        """An array with a value of a type for each thread. Raises TaichiCompilationError, at an
        operation, for what is no number."""
        if not isinstance(type_, ir.IntegerType | ir.IndexType | ir.FloatType):
            refuse(op, f"threads wait for one another while each has a '{type_}'")
        element = b.integer_type(64) if isinstance(type_, ir.IndexType) else type_
        return self._allocate(element, [self._size], op)

    def share(self, op: ir.Operation) -> None:
        """Put an array of the block in the place of a shared one."""
        old = op.results[0]
        array = self._allocate(element_type(old.type), array_of(old.type)[1], op)
        for use in list(old.uses):
            user = use.owner.operation
            _, indices = split_access(user)
            with before(user):
                copy = _access(user, array, [*self._prefix(), *indices])
            for result, new in zip(user.results, copy.results):
                result.replace_all_uses_with(new)
            user.erase()
        op.erase()

    def write(self, value: ir.Value, array: ir.Value, thread: ir.Value) -> None:
        """Keep the value of a thread, at the insertion point."""
        if isinstance(value.type, ir.IndexType):
            value = b.index_cast(value, b.integer_type(64))
        field.store(value, array, [*self._prefix(), thread])

    def load(self, array: ir.Value, thread: ir.Value) -> ir.Value:
        """Return the value of a thread in an array, at the insertion point."""
        return field.load(array, [*self._prefix(), thread])

    def read(self, type_: ir.Type, array: ir.Value, thread: ir.Value) -> ir.Value:
        """The value of a type that is kept for a thread, at the insertion point."""
        value = self.load(array, thread)
        return b.to_index(value) if isinstance(type_, ir.IndexType) else value

    def _prefix(self) -> list[ir.Value]:
        return [] if self._home.number is None else [self._home.number]

    def _allocate(self, element: ir.Type, extents: Sequence[int], op: ir.Operation) -> ir.Value:
        if self._home.loop is None:
            with at_start(self._home.code, op.location):
                return field.alloca(array_type(element, extents))
        with ir.InsertionPoint(self._home.loop), op.location:
            return field.alloca(array_type(element, [self._home.blocks, *extents]))


def _access(op: ir.Operation, array: ir.Value, indices: Sequence[ir.Value]) -> ir.Operation:
    """A load, store or atomic of an element of another array, at the insertion point."""
    values = [] if field.is_load(op) else [op.operands[0]]
    types = [result.type for result in op.results]
    attributes = {name: op.attributes[name] for name in op.attributes}
    return ir.Operation.create(op.name, types, [*values, array, *indices], attributes)
