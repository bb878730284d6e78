"""Loops with more sums than a thread has registers for, for `split-reductions`: they run several
times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, GetOp, is_load
from mlirad.ir.gpu.accumulator import Accumulator
from mlirad.ir.gpu.blocks import SUM_BYTES
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.reductions import REDUCE_MARK, find_reductions
from mlirad.ir.walk import before, block_operations, operations


def first_sums(sums: Sequence[Accumulator]) -> list[Accumulator]:
    """Return as many sums as fit into the registers of a thread."""
    return list(sums[: max(1, _room(sums))])


def loops_of_sums(loop: ir.Operation) -> Iterator[tuple[ir.Operation, list[Accumulator]]]:
    """A loop with its sums: as several loops, where it has many of them and does nothing else; if
    it does, those that are left out stay atomic."""
    sums = [Accumulator(reduction) for reduction in find_reductions(loop)]
    while _room(sums) < len(sums) and _only_sums(loop):
        now, later = sums[: _room(sums)], sums[_room(sums) :]
        with before(loop):
            first = loop.clone()
        _erase(first, [not _is_of(op, now) for op in _updates(loop)])
        _erase(loop, [not _is_of(op, later) for op in _updates(loop)])
        yield first, [Accumulator(reduction) for reduction in find_reductions(first)]
        sums = [Accumulator(reduction) for reduction in find_reductions(loop)]
    if sums:
        yield loop, first_sums(sums)


def _room(sums: Sequence[Accumulator]) -> int:
    """Return how many of some sums, from the first on, a thread has room for."""
    size = 0
    for number, sum_ in enumerate(sums):
        size += sum_.bytes
        if size > SUM_BYTES:
            return number
    return len(sums)


def _updates(loop: ir.Operation) -> list[ir.Operation]:
    return [op for op in operations(loop) if REDUCE_MARK in op.attributes]


def _is_of(op: ir.Operation, sums: Sequence[Accumulator]) -> bool:
    return any(op in sum_.reduction.updates for sum_ in sums)


def _erase(loop: ir.Operation, chosen: Sequence[bool]) -> None:
    """Erase some of the updates of a loop."""
    for op, is_chosen in zip(_updates(loop), chosen):
        if is_chosen:
            op.erase()


def _only_sums(loop: ir.Operation) -> bool:
    """Return whether a loop may run several times: it changes nothing but what it sums up."""
    return all(
        is_pure(op)
        or is_load(op)
        or any(kind.holds(op) for kind in (GetOp, DimOp))
        or len(op.regions)
        or REDUCE_MARK in op.attributes
        or op == block_operations(op.block)[-1]
        for op in operations(loop)
    )
