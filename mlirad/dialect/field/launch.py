"""Ops for values that a kernel requests from its launch: the chunk that runs, random numbers, the
time, values for the host."""

from collections.abc import Sequence
from typing import Any

from mlirad.bindings import I64, ext, ir
from mlirad.dialect.effects import writes
from mlirad.dialect.field.arrays import Field
from mlirad.dialect.view import View

_DRAWN = ("f16", "f32", "f64", "i1", "i8", "i16", "i32", "i64")


class ChunkOp(View, dialect=Field, name="chunk", traits=[ext.Pure]):
    """The number of the running chunk of a parallel loop. `%k = field.chunk`"""

    number: ext.Result[ir.IndexType]


class RandomOp(View, dialect=Field, name="random", traits=[ext.Pure]):
    """A uniform random number in [0, 1), or all bits of an integer. It is a function of its three
    counters, so a draw can be repeated.

    `%r = field.random %launch, %iteration, %draw : f32`
    """

    launch: ext.Operand[I64]
    iteration: ext.Operand[I64]
    draw: ext.Operand[I64]
    value: ext.Result[Any]

    def problem(self) -> str | None:
        type_ = self.operation.results[0].type
        if str(type_) not in _DRAWN:
            return f"a random {type_}, expected one of {', '.join(_DRAWN)}"
        return None


class ClockOp(View, dialect=Field, name="clock", effects=[writes()]):
    """The tick counter of the current processor. Two reads are never merged, and none is repeated.

    `%t = field.clock`

    Races: iterations of a parallel loop read it in any order; each multiprocessor of a GPU has its
      own counter.
    """

    ticks: ext.Result[I64]


class FetchOp(View, dialect=Field, name="fetch", traits=[ext.Pure]):
    """Values that the host needs. If the host cannot access the memory in which they are stored,
    they are copied to it.

    `%m, %n = field.fetch %a, %b`
    """

    values: Sequence[ext.Operand[ir.IndexType]]
    known: Sequence[ext.Result[ir.IndexType]]

    def problem(self) -> str | None:
        operands, results = self.operation.operands, self.operation.results
        if [v.type for v in operands] != [v.type for v in results]:
            return f"{len(operands)} values are given, {len(results)} are known"
        return None


def chunk() -> ir.Value:
    """`field.chunk`."""
    return ir.Operation.create(ChunkOp.OPERATION_NAME, [ir.IndexType.get()]).result


def random(type_: ir.Type, launch: ir.Value, iteration: ir.Value, draw: ir.Value) -> ir.Value:
    """`field.random`."""
    operands = [launch, iteration, draw]
    return ir.Operation.create(RandomOp.OPERATION_NAME, [type_], operands).result


def clock() -> ir.Value:
    """`field.clock`."""
    type_ = ir.IntegerType.get_signless(64)
    return ir.Operation.create(ClockOp.OPERATION_NAME, [type_]).result


def fetch(values: Sequence[ir.Value]) -> list[ir.Value]:
    """`field.fetch`."""
    types = [value.type for value in values]
    return list(ir.Operation.create(FetchOp.OPERATION_NAME, types, list(values)).results)
