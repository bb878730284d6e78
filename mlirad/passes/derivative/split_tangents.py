"""Compute many tangents of a long loop in several loops, four in each.

    parallel i: y[i] = f(x[i]), tangents 0 to 7   ->   parallel i: tangents 0 to 3
                                                       parallel i: y[i] = f(x[i]), tangents 4 to 7

A loop with all of them has more values at the same time than a processor has registers. What
tangents are made of is computed in each; all but the last store tangents alone, so that the next
finds all else as they have.

A loop stays one if it is short, if it does other things than to compute and to access elements, if
loops in it carry values, which all loops would carry on, or if it may load what an iteration has
stored before, which only the last one would find.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicOp, DimOp, GetOp, LoadOp, StoreOp, is_access, split_access
from mlirad.dialect.snode import duals_of, places
from mlirad.ir.limits import Range
from mlirad.ir.ops import Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import SERIAL_LOOPS, is_parallel
from mlirad.ir.walk import (
    Array,
    accesses,
    array_root,
    before,
    block_operations,
    entry_of,
    functions,
    has_uses,
    operations,
)

REQUIRES = KERNELS
Length = Annotated[int, Range(1, 1_000_000)]
TOGETHER = 4  # tangents of one loop
_ALLOWED = tuple(op.OPERATION_NAME for op in (AtomicOp, DimOp, GetOp, LoadOp, StoreOp))
_LOOPS = (*SERIAL_LOOPS, Scf.PARALLEL)


def split_tangents(module: ir.Operation, *, length: Length = 600) -> None:
    """Split the parallel loops of kernels that have at least `length` operations and eight
    tangents."""
    numbers: dict[Array, int] = {
        name: number for place in places(module) for number, name in enumerate(duals_of(place))
    }
    for function in functions(module):
        for loop in filter(is_parallel, block_operations(entry_of(function))):
            if next(islice(operations(loop), length - 1, None), None) is not None:
                _split(loop, numbers)


def _split(loop: ir.Operation, numbers: Mapping[Array, int]) -> None:
    tangents = [numbers[array] for _, array in _writes(loop) if array in numbers]
    count = (max(tangents, default=0) + 1) // TOGETHER
    if count < 2 or len(loop.results) or not _may_be_repeated(loop, numbers):
        return
    for group in range(count):
        copy = loop
        if group < count - 1:
            with before(loop):
                copy = loop.clone().operation
        for op, array in list(_writes(copy)):
            home = min(numbers[array] // TOGETHER, count - 1) if array in numbers else count - 1
            if home != group:
                op.erase()


def _writes(loop: ir.Operation) -> Iterator[tuple[ir.Operation, Array]]:
    return ((op, array) for op, array, _ in accesses(loop) if op.name != LoadOp.OPERATION_NAME)


def _may_be_repeated(loop: ir.Operation, numbers: Mapping[Array, int]) -> bool:
    """Return whether a loop computes and accesses elements, of which it loads none that it may have
    stored, but for tangents; and carries nothing."""
    stored = set[Array]()
    for op in operations(loop):
        if not (is_arithmetic(op) or op.name.startswith("scf.") or op.name in _ALLOWED):
            return False
        if op.name in _LOOPS:
            if len(op.results):
                return False
            stored.update(array for _, array in _writes(op) if array not in numbers)
        elif is_access(op):
            array = array_root(split_access(op)[0])
            if op.name == LoadOp.OPERATION_NAME:
                if array in stored:
                    return False
            elif any(map(has_uses, op.results)):
                return False
            elif array not in numbers:
                stored.add(array)
    return True
