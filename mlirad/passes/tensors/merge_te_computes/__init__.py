"""Definitions of tensors written into what reads them, so that they need no array.

Assumes that regions are pure. A definition goes where that evaluates it no more often than it has
elements: into its only reader, also a reduction whose result an expression goes on with, unless a
decision is made of it. What is cheap goes into all its readers: a constant, and an element of
another tensor, or 0, whose indices are sums. Others may be read by several expressions, where they
are a few operations on one element. What a function gives stays, what is to be kept, and what
would nest branches deeper than passes recurse. Definitions that say the same are one. Afterwards
reductions stand within expressions, which derivatives do not take (`sweeps/tensors/definition.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.linear import linear_form
from mlirad.analysis.tensors.te_points import elements_of, points_of
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import decides
from mlirad.ir.ops import Arith, Scf
from mlirad.ir.reports.remarks import copy_remarks, remark
from mlirad.ir.requirements import TENSORS
from mlirad.ir.structured import is_branch
from mlirad.ir.te_regions import Copier, erase_unused
from mlirad.ir.walk import (
    before,
    block_operations,
    constant_float,
    enclosing,
    entry_of,
    functions,
    has_uses,
    is_defined_in,
    operations,
    users_of,
)
from mlirad.passes.tensors.merge_te_computes.common_definitions import merge_common_definitions

REQUIRES = TENSORS
_DEAR = (Arith.DIVF, Arith.REMF)
FEW = 4  # operations that are as soon done again as their result is read


def merge_te_computes(root: ir.Operation) -> None:
    """Inline definitions of tensors into their readers, if this does not increase the work."""
    for function in functions(root):
        entry = entry_of(function)
        merge_common_definitions(entry)
        for op in block_operations(entry):
            if te.ComputeOp.holds(op):
                _merge(op)


def _merge(op: ir.Operation) -> None:
    erase_unused(op)
    readers = users_of(op.results[0])
    if readers and all(map(te.is_read, readers)) and _may_be_merged(op, readers):
        consumers = dict.fromkeys(map(_definition_around, readers))
        copy_remarks(op, consumers)
        for consumer in consumers:
            remark(consumer, f"'{te.label_of(op)}' is merged into '{te.label_of(consumer)}'")
        for read in readers[1:]:
            _copy_into(op, read)
        _move_into(op, readers[0])
    if not has_uses(op.results[0]):
        op.erase()


def _copy_into(op: ir.Operation, read: ir.Operation) -> None:
    body = te.body_of(op)
    copier = Copier(dict(zip(body.arguments, list(read.operands)[1:])))
    with before(read):
        (value,) = copier.block(body)
    read.results[0].replace_all_uses_with(value)
    read.erase()


def _move_into(op: ir.Operation, read: ir.Operation) -> None:
    """Write a definition into its last reader: what is moved is not copied again and again."""
    body = te.body_of(op)
    *ops, end = block_operations(body)
    for argument, index in zip(body.arguments, list(read.operands)[1:]):
        argument.replace_all_uses_with(index)
    for inner in ops:
        inner.move_before(read)
    (value,) = end.operands
    read.results[0].replace_all_uses_with(value)
    read.erase()


def _may_be_merged(op: ir.Operation, reads: Sequence[ir.Operation]) -> bool:
    inner = [inner_op for inner_op in operations(op) if not te.YieldOp.holds(inner_op)]
    nested = max(
        (_branches_around(inner_op, op) for inner_op in inner if is_branch(inner_op)), default=0
    )
    around = max(_branches_around(read, _definition_around(read)) for read in reads)
    if te.KEPT in op.attributes or nested + around > te.MOST_NESTED:
        return False
    if te.INLINED in op.attributes:
        return True
    if _is_number(op) or _is_view(op, inner):
        return True
    if any(te.ScanOp.holds(_definition_around(read)) for read in reads):
        return False
    is_reduced = any(map(te.is_reduce, inner))
    if len(reads) > 1:
        return _is_little(inner) and not any(map(_is_in_reduction, reads))
    (read,) = reads
    if is_reduced and (is_branch(enclosing(read)) or not len(te.body_of(op).arguments)):
        return False
    if is_reduced and _feeds_decision(read):
        return False
    points = points_of(read)
    return points is not None and points.is_at_most(elements_of(op.results[0]))


def _feeds_decision(read: ir.Operation) -> bool:
    """Return whether a decision is made of what is read: a sum is rounded as it may be only where
    it is read from an array then."""
    users: set[ir.Operation] = set()
    pending = [read]
    while pending:
        for use in pending.pop().results[0].uses:
            user = use.owner.operation
            if decides(user):
                return True
            if user not in users and len(user.results) == 1:
                users.add(user)
                pending.append(user)
    return False


def _is_number(op: ir.Operation) -> bool:
    """Return whether all elements are one number, that is known."""
    return constant_float(block_operations(te.body_of(op))[-1].operands[0]) is not None


def _is_view(op: ir.Operation, inner: Sequence[ir.Operation]) -> bool:
    """Return whether a definition gives an element of another tensor, at indices that are sums;
    where a condition on indices does not hold, a number; or numbers alone."""
    reads = [inner_op for inner_op in inner if te.is_read(inner_op)]
    if len(reads) > 1 or not all(
        _is_sum(i, op) for inner_op in reads for i in list(inner_op.operands)[1:]
    ):
        return False
    return all(_is_of_indices(inner_op) for inner_op in inner if inner_op not in reads)


def _is_of_indices(op: ir.Operation) -> bool:
    if is_branch(op) or op.name in (Scf.YIELD, Arith.SELECT) or not len(op.operands):
        return True
    return not any(b.is_float(value.type) for value in (*op.operands, *op.results))


def _is_sum(index: ir.Value, op: ir.Operation) -> bool:
    """Return whether an index is a sum of the indices of a definition, and of what is outside of
    it."""
    indices = set(te.body_of(op).arguments)
    return all(name in indices or not is_defined_in(name, op) for name in linear_form(index).names)


def _is_little(inner: Sequence[ir.Operation]) -> bool:
    """Return whether a definition is a few cheap operations on one element."""
    work = [op for op in inner if any(b.is_float(value.type) for value in op.operands)]
    is_cheap = all(op.name.startswith("arith.") and op.name not in _DEAR for op in work)
    return is_cheap and len(work) <= FEW and sum(map(te.is_read, inner)) <= 1


def _is_in_reduction(read: ir.Operation) -> bool:
    outer = enclosing(read)
    while is_branch(outer):
        outer = enclosing(outer)
    return te.is_reduce(outer)


def _branches_around(op: ir.Operation, definition: ir.Operation) -> int:
    """Return how many branches of a definition are nested down to an op, which may be one."""
    count = 0
    while op != definition:
        count += is_branch(op)
        op = enclosing(op)
    return count


def _definition_around(op: ir.Operation) -> ir.Operation:
    while not te.defines_tensor(op):
        op = enclosing(op)
    return op
