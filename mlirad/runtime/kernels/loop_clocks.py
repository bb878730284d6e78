"""Clocks around the loops that a program names, in code whose launches are timed.

A loop is a part of a launch, and no launch: the code itself reads the clock, before and behind what
the last stages have left of a loop, and adds the difference to a word of the process. Launches at
the same time share these words: the row of one may have time of the other.
"""

from __future__ import annotations

import ctypes

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import memref_at, pointer_of, pointer_type
from mlirad.ir.ops import Func, Gpu, Llvm
from mlirad.ir.reports.loop_names import LOOP_NAME, name_at
from mlirad.ir.requirements import is_private
from mlirad.ir.walk import (
    at_start,
    before,
    behind,
    block_operations,
    entry_of,
    functions,
    operations,
)
from mlirad.runtime.profile import LoopTimes

_CLOCK, _MONOTONIC = "clock_gettime", 1
_CALLS = (Func.CALL, Gpu.LAUNCH_FUNC, Llvm.CALL)


def has_named_loops(module: ir.Module) -> bool:
    """Return whether a program names a loop of a kernel."""
    return any(LOOP_NAME in op.attributes for op in operations(module.operation))


def insert_loop_clocks(module: ir.Operation) -> LoopTimes:
    """Time the loops with names of a module that waits for its last stage; return where the code,
    which only this process can run, leaves how long they took."""
    timed = [
        (function, op, name)
        for function in functions(module)
        if not is_private(function)
        for op in block_operations(entry_of(function))
        if (name := name_at(op.location)) is not None and (len(op.regions) or op.name in _CALLS)
    ]
    names = list(dict.fromkeys(name for *_, name in timed))
    times = LoopTimes(names, (ctypes.c_int64 * len(names))())
    if timed:
        body = module.regions[0].blocks[0]
        body.append(ir.Operation.parse(f"llvm.func @{_CLOCK}(i32, !llvm.ptr) -> i32"))
    for function, op, name in timed:
        _time(function, op, ctypes.addressof(times.words) + 8 * names.index(name))
    return times


def _time(function: ir.Operation, op: ir.Operation, address: int) -> None:
    """Add the nanoseconds of an op to the word at an address."""
    i64 = b.integer_type(64)
    with at_start(entry_of(function), op.location):
        moment = b.alloca(ir.MemRefType.get([2], i64))
    with before(op):
        begun = _nanoseconds(moment)
    with behind(op):
        ended = _nanoseconds(moment)
        pointer = b.inttoptr(b.number(address, i64), pointer_type())
        word = memref_at(pointer, ir.MemRefType.get([1], i64), [1], [1])
        zero = b.index(0)
        b.write(b.add(b.read(word, [zero]), b.sub(ended, begun)), word, [zero])


def _nanoseconds(moment: ir.Value) -> ir.Value:
    """Read the clock, by way of two words: seconds, and nanoseconds beside them."""
    i32, i64 = b.integer_type(32), b.integer_type(64)
    b.llvm_call(_CLOCK, [b.number(_MONOTONIC, i32), pointer_of(moment)], [i32])
    seconds, beside = (b.read(moment, [b.index(k)]) for k in range(2))
    return b.add(b.mul(seconds, b.number(1_000_000_000, i64)), beside)
