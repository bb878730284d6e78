"""The numbers that have to be tested for NaNs, so that none is missed: sums and products of a NaN
are NaNs, so the last ones are enough."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlirad.analysis.guard_segments import is_pure
from mlirad.analysis.zero_guards import is_strict
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith


def looked_at_for_nans(
    ops: Sequence[ir.Operation],
    results: Sequence[ir.Value],
    doubtful: Collection[ir.Value],
    witnesses: Sequence[ir.Value],
) -> list[ir.Value]:
    """The results, and other values, where a NaN is not passed on: of `witnesses`, and of what is
    made of `doubtful` numbers."""
    reached = _NanReach(ops, [v for v in results if b.is_float(v.type)])
    last_values = dict.fromkeys(v for v in reached.ends if not reached.goes_on(v))
    last_values.update(dict.fromkeys(v for v in witnesses if not reached.is_seen(v)))
    doubted = set(doubtful)
    for op in ops:
        operands = [v for v in op.operands if v in doubted]
        if operands and is_pure(op):
            doubted.update(op.results)
            if op.name != Arith.SELECT and not is_strict(op):
                last_values.update(
                    dict.fromkeys(
                        v for v in operands if b.is_float(v.type) and not reached.is_seen(v)
                    )
                )
    return list(last_values)


class _NanReach:
    """The values that a NaN passes on to the `ends` by ops that give a NaN of a NaN."""

    def __init__(self, ops: Sequence[ir.Operation], ends: Sequence[ir.Value]) -> None:
        self.ops, self.ends = set(ops), list(dict.fromkeys(ends))
        self._seen = dict.fromkeys(self.ends, True)

    def is_seen(self, value: ir.Value) -> bool:
        """Return whether a NaN there shows at an end."""
        is_tested = self._seen.get(value)
        if is_tested is None:
            is_tested = self._seen[value] = self.goes_on(value)
        return is_tested

    def goes_on(self, value: ir.Value) -> bool:
        """Return whether it shows at another end."""
        users = (use.owner.operation for use in value.uses)
        return any(op in self.ops and is_strict(op) and self.is_seen(op.results[0]) for op in users)
