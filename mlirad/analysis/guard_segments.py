"""A stretch of a block whose guards may be left out together: what is computed of them, and what
uses that, which may wait until all of it is computed."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.analysis.lanes.updates import FLOAT_STEPS, Updates
from mlirad.analysis.zero_guards import guard_of
from mlirad.bindings import ir
from mlirad.ir.ops import Func, Memref
from mlirad.ir.structured import is_for
from mlirad.ir.walk import block_operations, captured_values, with_inner

_PURE = ("arith.", "math.")
ALLOCATIONS = (Memref.ALLOCA, Memref.ALLOC)


class Segment:
    """Ops of a block one after another. `front` are those that stay; `back` those that use what is
    computed of guards, or come behind such ops, which may move to the end; `made` is what is
    computed of guards in front."""

    def __init__(self, guards: set[ir.Operation], late: set[ir.Operation]) -> None:
        self._guards, self._late = guards, late
        self.front: list[ir.Operation] = []
        self.back: list[ir.Operation] = []
        self.guards: list[ir.Operation] = []
        self.made: set[ir.Value] = set()
        self._behind: set[ir.Value] = set()
        self._read: set[ir.Value] = set()
        self._written: set[ir.Value] = set()

    def takes(self, op: ir.Operation) -> bool:
        """Take the next op; not one that holds or calls others and would have to move."""
        values = used_values(op)
        if self._may_wait(op, values):
            if op.regions or op.name == Func.CALL:
                return False
            self._wait(op)
            return True
        self.front.append(op)
        if op in self._guards:
            self.guards.append(op)
            self.made.update(op.results)
        elif not self.made.isdisjoint(values) and is_pure(op):
            self.made.update(op.results)
        return True

    def _may_wait(self, op: ir.Operation, values: list[ir.Value]) -> bool:
        if op in self._late or not self._behind.isdisjoint(values):
            return True
        if is_pure(op) or op.name in ALLOCATIONS:
            return False
        if not self.made.isdisjoint(values):
            return True
        if is_opaque(op):
            return bool(self.back)
        read, written = touched_memory(op)
        return bool((read & self._written) | (written & self._written) | (written & self._read))

    def _wait(self, op: ir.Operation) -> None:
        self.back.append(op)
        self._behind.update(op.results)
        read, written = touched_memory(op)
        self._read |= read
        self._written |= written

    def results(self) -> dict[ir.Value, list[tuple[ir.Operation, int]]]:
        """Return the ops that are built from guards and that others than the ops before use, with
        the uses."""
        front = set(self.front)
        uses_of: dict[ir.Value, list[tuple[ir.Operation, int]]] = {}
        for op in self.front:
            for value in op.results:
                if value in self.made:
                    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
                    late_uses = [use for use in uses if use[0] not in front]
                    if late_uses:
                        uses_of[value] = late_uses
        return uses_of


def segments(block: ir.Block) -> Iterator[tuple[Segment, ir.Operation]]:
    """The stretches of a block that have guards, each with the op behind it."""
    *ops, end = block_operations(block)
    guards = {op for op in ops if guard_of(op) is not None}
    if not guards:
        return
    late = _late_ops(block, ops, guards)
    segment = Segment(guards, late)
    for op in ops:
        if not segment.takes(op):
            if segment.guards:
                yield segment, op
            segment = Segment(guards, late)
            segment.takes(op)
    if segment.guards:
        yield segment, end


def is_pure(op: ir.Operation) -> bool:
    """Return whether an op only computes."""
    return op.name.startswith(_PURE)


def is_opaque(op: ir.Operation) -> bool:
    """Return whether it is not known what an op, or one within it, does beside giving its results,
    as it is not of a call."""
    transparent = (*_PURE, "memref.", "scf.")
    return any(not inner.name.startswith(transparent) for inner in with_inner(op))


def used_values(op: ir.Operation) -> list[ir.Value]:
    """The values from outside that an op, or one within it, uses."""
    return [*op.operands, *(captured_values(op) if op.regions else ())]


def touched_memory(op: ir.Operation) -> tuple[set[ir.Value], set[ir.Value]]:
    """The memory that an op, or one within it, reads, and that it writes or may write."""
    read: set[ir.Value] = set()
    written: set[ir.Value] = set()
    for inner in with_inner(op):
        memory = {v for v in inner.operands if isinstance(v.type, ir.MemRefType)}
        (read if inner.name == Memref.LOAD else written).update(memory)
    return read, written


def _late_ops(
    block: ir.Block, ops: list[ir.Operation], guards: set[ir.Operation]
) -> set[ir.Operation]:
    """The ops by which what is made of guards is added to memory, and to what a loop carries."""
    late_values: set[ir.Value] = set()
    sums: set[ir.Value] = set()
    if is_for(block.owner.operation):
        sums.update(list(block.arguments)[1:])
    late_ops: set[ir.Operation] = set()
    updates = Updates()
    for op in ops:
        if op.name == Memref.STORE:
            update = updates.update_of(op)
            if update is not None and not late_values.isdisjoint(
                v for step in update.steps for v in step.operands
            ):
                late_ops.update((update.load, *update.steps, op))
        elif op in guards or (not late_values.isdisjoint(op.operands) and is_pure(op)):
            late_values.update(op.results)
            if (
                op.name in FLOAT_STEPS
                and not sums.isdisjoint(op.operands)
                and len(list(op.results[0].uses)) == 1
            ):
                sums.update(op.results)
                late_ops.add(op)
    return late_ops
