"""Zeros taken out of definitions of tensors.

Assumes that what derivatives multiply is 0 where their first factor is, whatever the others are:
sweeps mark those products and sums. A tensor of zeros is not read; a sum loses what is 0; a
reduction does not visit the points at which a condition on its indices says that nothing is added.
Short loops with conditions stay: they become tiles of vectors. Conditions on indices that always
hold, or never, are known, and so are quotients of indices that are sums. Afterwards nothing is
marked.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.reports.remarks import remark
from mlirad.ir.requirements import TENSORS
from mlirad.ir.walk import (
    before,
    block_operations,
    entry_of,
    functions,
    has_uses,
    is_zero,
    operations,
    users_of,
)
from mlirad.passes.tensors.remove_te_zeros.comparisons import Ranges, fold_known, ranges_of
from mlirad.passes.tensors.remove_te_zeros.condition_bounds import bound_by_conditions, sums_of
from mlirad.passes.tensors.remove_te_zeros.quotients import fold_quotient

REQUIRES = TENSORS


def remove_te_zeros(root: ir.Operation) -> None:
    """Remove terms that are known to be 0 from definitions of tensors."""
    for function in functions(root):
        for op in block_operations(entry_of(function)):
            if te.defines_tensor(op):
                _remove(op)


def _remove(definition: ir.Operation) -> None:
    inner = list(operations(definition))
    ranges: Ranges = {}
    for op in [definition, *inner]:
        ranges |= ranges_of(op)
    for op in inner:
        _fold(op)
        fold_quotient(op, ranges)
        if len(op.results) == 1:
            fold_known(op, sums_of(op.results[0]), ranges)
    for op in inner:
        if te.is_reduce(op):
            bound_by_conditions(op)
    for op in inner:
        te.unmark_derivative(op)
    if te.ComputeOp.holds(definition):
        result = block_operations(te.body_of(definition))[-1].operands[0]
        if is_zero(result):
            _read_as_zero(definition)


def _fold(op: ir.Operation) -> None:
    """Let what uses a sum or a product of a derivative use what it is known to be."""
    if not te.is_derivative(op) or op.name not in (Arith.ADDF, Arith.MULF):
        return
    left, right = op.operands
    zero = next((value for value in (left, right) if is_zero(value)), None)
    if zero is None:
        return
    is_product = op.name == Arith.MULF
    op.results[0].replace_all_uses_with(zero if is_product else right if zero == left else left)


def _read_as_zero(definition: ir.Operation) -> None:
    """Let reads of a tensor of zeros be 0."""
    reads = users_of(definition.results[0])
    for read in filter(te.is_read, reads):
        with before(read):
            zero = b.number(0.0, read.results[0].type)
        read.results[0].replace_all_uses_with(zero)
        read.erase()
    if reads:
        remark(definition, f"'{te.label_of(definition)}' is 0")
    if not has_uses(definition.results[0]):
        definition.erase()
