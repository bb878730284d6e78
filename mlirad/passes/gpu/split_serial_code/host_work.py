"""The work of the host between launches, for `split-serial-code`: it allocates memory of the
device, and copies values from there that it has to know."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import FetchOp
from mlirad.dialect.snode import places
from mlirad.ir import build as b
from mlirad.ir.gpu.device_memory import allocate, copy_to_host, release
from mlirad.ir.ops import Memref
from mlirad.ir.signature import is_begun
from mlirad.ir.walk import attributes_of, before, owner_operation, replace


def is_host_work(op: ir.Operation) -> bool:
    """Return whether an op at the top of a function is the host's, whatever its operands come
    from."""
    return FetchOp.holds(op) or op.name in (Memref.ALLOC, Memref.DEALLOC)


def words_of_host(module: ir.Operation) -> set[str]:
    """Return the names of what the host tells a launch, and reads for it: whether fields count as 0
    (`insert-first-updates`)."""
    return {
        ir.StringAttr(place.attributes["sym_name"]).value
        for place in places(module)
        if is_begun(attributes_of(place))
    }


def ends_use(op: ir.Operation) -> bool:
    """Return whether the code before an op of the host has to run first."""
    return op.name == Memref.DEALLOC


def unknown_operands(op: ir.Operation, host: set[ir.Value]) -> list[ir.Value]:
    """Return what the host has to know for an op, and does not."""
    return [value for value in op.operands if value not in host]


class FetchedValues:
    """Values that a launch leaves in memory for the host."""

    def __init__(self, values: Sequence[ir.Value], op: ir.Operation) -> None:
        self.values, self.op = list(values), op
        i64 = b.integer_type(64)
        with before(op):
            self.memory = allocate(ir.MemRefType.get([len(self.values)], i64), [])

    def leave(self) -> list[ir.Operation]:
        """Return what a launch does for it, made in front of the op."""
        i64, ops = b.integer_type(64), []
        with before(self.op):
            for position, value in enumerate(self.values):
                word = b.index_cast(value, i64)
                place = b.index(position)
                ops += [owner_operation(word), owner_operation(place)]
                ops.append(b.effect(Memref.STORE, [word, self.memory, place]))
        return ops

    def take(self) -> dict[ir.Value, ir.Value]:
        """Return what the host does behind the launch: each value, as the host knows it."""
        with before(self.op):
            host_copy = copy_to_host(self.memory)
            words = [b.read(host_copy, [b.index(number)]) for number in range(len(self.values))]
            release(self.memory)
            values = [b.to_index(word) for word in words]
        return dict(zip(self.values, values))


def do_on_host(op: ir.Operation, fetched_values: dict[ir.Value, ir.Value]) -> list[ir.Value]:
    """Replace an op by the host's, with what was fetched for it; its results."""
    operands = [fetched_values.get(value, value) for value in op.operands]
    results: list[ir.Value] = []
    with before(op):
        if FetchOp.holds(op):
            results = operands
        elif op.name == Memref.ALLOC:
            results = [allocate(op.results[0].type, operands)]
        else:
            release(operands[0])
    replace(op, results)
    return results
