"""Ops that the threads of a block execute together. A block is `block_dim` consecutive iterations
of a parallel loop; a group is 32 consecutive threads of a block."""

from typing import Any

from mlirad.bindings import I1, I32, ext, ir
from mlirad.dialect.effects import allocates, writes
from mlirad.dialect.field.arrays import Field, problem_of_new_array
from mlirad.dialect.view import NamedOp, View

GROUP = 32  # the threads of a group


class SyncOp(View, dialect=Field, name="sync", effects=[writes()]):
    """Wait until all threads of the block have reached this point. `field.sync`

    Races: accesses before it do not race with accesses after it in other iterations of the block.
    """


class ShuffleOp(View, dialect=Field, name="shuffle", effects=[writes()]):
    """The value of another thread of the group, by its number in the group.

    `%r = field.shuffle %v, %lane : f32`

    Races: as `field.sync`, among the threads of the group.
    """

    value: ext.Operand[Any]
    lane: ext.Operand[ir.IndexType]
    result: ext.Result[Any]

    def problem(self) -> str | None:
        value, result = self.operation.operands[0].type, self.operation.results[0].type
        if value != result:
            return f"a shuffle of {value} gives {result}"
        if not isinstance(value, ir.FloatType | ir.IntegerType):
            return f"a shuffle of {value}, expected a number"
        return None


class BallotOp(View, dialect=Field, name="ballot", effects=[writes()]):
    """One bit per thread of the group: 1 if the thread has reached this point and its predicate
    holds.

    `%bits = field.ballot %p`

    Races: as `field.sync`, among the threads of the group.
    """

    predicate: ext.Operand[I1]
    bits: ext.Result[I32]


class SharedOp(View, dialect=Field, name="shared", effects=[allocates("array")]):
    """An array that the threads of a block share. `%s = field.shared : !field.array<f32, [32]>`

    Races: with accesses of the same element by other threads of the block between two `field.sync`.
    Bounds: extents are positive; an element is undefined until it is stored to.
    Aliasing: it overlaps no other array.
    """

    array: ext.Result[Any]

    def problem(self) -> str | None:
        return problem_of_new_array(self.operation.results[0].type, "shared")


TOGETHER = tuple(kind.OPERATION_NAME for kind in (SyncOp, ShuffleOp, BallotOp, SharedOp))


def needs_block(op: NamedOp) -> bool:
    """Return whether an op is something that the threads of a block do together, or share."""
    return op.name in TOGETHER


def sync() -> None:
    """`field.sync`."""
    ir.Operation.create(SyncOp.OPERATION_NAME, [], [])


def shuffle(value: ir.Value, lane: ir.Value) -> ir.Value:
    """`field.shuffle`."""
    return ir.Operation.create(ShuffleOp.OPERATION_NAME, [value.type], [value, lane]).result


def ballot(predicate: ir.Value) -> ir.Value:
    """`field.ballot`."""
    i32 = ir.IntegerType.get_signless(32)
    return ir.Operation.create(BallotOp.OPERATION_NAME, [i32], [predicate]).result


def shared(type_: ir.Type) -> ir.Value:
    """`field.shared`."""
    return ir.Operation.create(SharedOp.OPERATION_NAME, [type_]).result
