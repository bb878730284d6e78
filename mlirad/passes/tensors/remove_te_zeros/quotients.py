"""Quotients of indices that are sums wherever they are formed: `(16 c + 4 i + j) // 16` is c where
`4 i + j` stays below 16."""

from __future__ import annotations

from mlirad.analysis.linear import Linear, extent_of, linear_form, number
from mlirad.analysis.tensors.te_accesses import Form
from mlirad.bindings import ir
from mlirad.ir.ops import Arith
from mlirad.ir.walk import before, constant_integer
from mlirad.passes.tensors.remove_te_zeros.comparisons import Ranges
from mlirad.sweeps.tensors.points import emit_sum

_ROUNDED = {
    Arith.FLOORDIVSI: lambda total, divisor: total // divisor,
    Arith.CEILDIVSI: lambda total, divisor: -(-total // divisor),
}


def fold_quotient(op: ir.Operation, ranges: Ranges) -> None:
    """Let what uses a quotient of a sum by a number use the multiples in the sum, where the rest
    always has one quotient."""
    if op.name not in _ROUNDED or not isinstance(op.results[0].type, ir.IndexType):
        return
    divisor, total = constant_integer(op.operands[1]), linear_form(op.operands[0])
    if divisor is None or divisor <= 0:
        return
    if not all(isinstance(name.type, ir.IndexType) for name in total.names):
        return  # of data, seen through a cast
    multiples = {name: int(factor / divisor) for name, factor in total.terms}
    whole: Linear[ir.Value] = Linear(frozenset((n, f) for n, f in multiples.items() if f), 0)
    remainder = extent_of(total.plus(whole, -divisor), ranges)
    if remainder is None:
        return
    least, most = (_ROUNDED[op.name](end, divisor) for end in remainder)
    if least != most:
        return
    quotient = whole.plus(number(least))
    form: Form = Linear(quotient.terms, quotient.constant)
    with before(op), op.location:
        op.results[0].replace_all_uses_with(emit_sum(form, {}))
