"""Counts the tasks of the last launch: parallel loops, and the statements between them."""

from __future__ import annotations

from itertools import groupby

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field import AssertOp, AtomicOp, PrintOp, StoreOp
from mlirad.ir.ops import Scf
from mlirad.ir.walk import entry_of, functions
from mlirad.runtime.kernels.variant import RECORDED
from mlirad.runtime.program import program

_STATEMENTS = {op.OPERATION_NAME for op in (AssertOp, AtomicOp, PrintOp, StoreOp)}
_SERIAL = -1  # in the place of a loop's number


def count_last_tasks() -> int:
    """Return the number of tasks of the last launch outside of tapes, as its kernel is written:
    loops that the compiler fuses are counted one by one. 0 if there was none."""
    launched = [v for v in list(program().built) if v.launched_at != RECORDED]
    if not launched:
        return 0
    last = max(launched, key=lambda variant: variant.launched_at)
    with context():
        return _count_tasks(entry_of(functions(last.kernel.module.operation)[0]))


def _count_tasks(body: ir.Block) -> int:
    """Count parallel loops, and stretches of serial statements."""
    steps: list[int] = []
    for op in body.operations:
        if op.operation.name == Scf.PARALLEL:
            steps.append(len(steps))
        elif op.operation.name in _STATEMENTS or any(True for _ in op.operation.regions):
            steps.append(_SERIAL)
    return sum(1 for _ in groupby(steps))
