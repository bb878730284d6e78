"""Multiply a sum that a serial loop carries by what does not change in the loop behind it, instead
of each of its terms: `s += c * f(j)` is `s + c * sum`.

Assumes that marks say which sums may be made in any order, and that code that does not change in a
loop stands in front of it; a pipeline without `fast_math` leaves this out. What several sums share
is divided by the factor once. Where the loop may not run, the sum is left as it was then: the
factor may be infinite.
"""

from __future__ import annotations

from mlirad.analysis.trips import certainly_runs
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import FUSED, is_bound
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import (
    attributes_of,
    before,
    behind,
    block_operations,
    defining_op,
    functions,
    is_defined_in,
    operations,
)

_MOST = 16  # factors that are tried in turn: code may be long
_SUMS = (Arith.ADDF, Arith.SUBF)


def hoist_factors(root: ir.Operation) -> None:
    """Multiply the sum that a loop carries, in place of each term, by factors that the loop does
    not change."""
    for function in functions(root):
        loops = [op for op in operations(function) if is_for(op)]
        for loop in reversed(loops):
            _double(loop)
            while any(_hoist(ScaledSums(loop, factor)) for factor in _factors(loop)):
                pass


def _double(loop: ir.Operation) -> None:
    """Make products of the doubled terms of sums, so that 2 is a factor."""
    for op in _terms(loop):
        if op.name == Arith.ADDF and op.operands[0] == op.operands[1]:
            with before(loop):
                two = b.number(2.0, op.results[0].type)
            with before(op):
                product = b.mulf(op.operands[0], two, **attributes_of(op))
            op.results[0].replace_all_uses_with(product)
            op.erase()


def _factors(loop: ir.Operation) -> list[ir.Value]:
    """Return the values that do not change in a loop and are factors in a term of a sum that it
    carries."""
    factors: dict[ir.Value, None] = {}
    for op in _terms(loop):
        for value in list(op.operands)[: 1 if op.name == Arith.DIVF else 2]:
            if op.name in (Arith.MULF, Arith.DIVF) and not is_defined_in(value, loop):
                factors.setdefault(value)
    return [value for value in factors if not _is_one(value)][:_MOST]


def _terms(loop: ir.Operation) -> list[ir.Operation]:
    """The products, quotients and sums that the terms of sums are made of."""
    body = For(loop).body
    pending = [defining_op(value) for value in block_operations(body)[-1].operands]
    terms: dict[ir.Operation, None] = {}
    while pending:
        op = pending.pop()
        if op is None or op.block != body or op in terms or not _is_free(op):
            continue
        if op.name in (Arith.MULF, Arith.DIVF, Arith.NEGF, *_SUMS):
            terms[op] = None
            pending += [defining_op(value) for value in op.operands]
    return list(terms)


def _is_one(value: ir.Value) -> bool:
    op = defining_op(value)
    if op is None or "value" not in op.attributes:
        return False
    constant = op.attributes["value"]
    if isinstance(constant, ir.DenseElementsAttr) and constant.is_splat:
        constant = constant.get_splat_value()
    return isinstance(constant, ir.FloatAttr) and constant.value == 1.0


def _is_free(op: ir.Operation) -> bool:
    return FUSED not in op.attributes and not is_bound(op)


class ScaledSums:
    """Values in a loop that a factor scales. `is_known`: it is used for nothing but sums that the
    loop carries."""

    def __init__(self, loop: ir.Operation, factor: ir.Value) -> None:
        self.loop, self.factor, self.body = For(loop), factor, For(loop).body
        self.products: list[ir.Operation] = []
        self.sums: dict[int, ir.Operation] = {}  # by their numbers among what is carried
        self.values: set[ir.Value] = set()
        self.is_known = all(map(self._follow, block_operations(self.body)[:-1]))
        self.is_known = self.is_known and self._is_used_up()

    def _follow(self, op: ir.Operation) -> bool:
        """Note what an op gives; False where it gives no multiple of the factor."""
        scaled = [value in self.values for value in op.operands]
        if not any(scaled):
            if self._is_multiple(op):
                self.products.append(op)
                self.values.add(op.results[0])
            return True
        if not _is_free(op):
            return False
        if op.name in _SUMS and not all(scaled):
            return self._is_sum(op, scaled)
        self.values.update(op.results)
        return op.name in (*_SUMS, Arith.NEGF) or (
            scaled.count(True) == 1
            and (op.name == Arith.MULF or (op.name == Arith.DIVF and scaled[0]))
        )

    def _is_multiple(self, op: ir.Operation) -> bool:
        """Return whether an op multiplies by the factor, or divides it."""
        if op.name not in (Arith.MULF, Arith.DIVF) or not _is_free(op):
            return False
        times = [value == self.factor for value in op.operands]
        return times == [True, False] or (op.name == Arith.MULF and times == [False, True])

    def _is_sum(self, op: ir.Operation, scaled: list[bool]) -> bool:
        """Return whether an op adds a term to what the loop carries, which nothing else uses."""
        carried = op.operands[scaled.index(False)]
        if (op.name == Arith.SUBF and scaled[0]) or carried not in self.loop.carried:
            return False
        number = self.loop.carried.index(carried)
        uses = [*carried.uses, *op.results[0].uses]
        last = block_operations(self.body)[-1]
        self.sums[number] = op
        return len(uses) == 2 and last.operands[number] == op.results[0]

    def _is_used_up(self) -> bool:
        """Return whether all multiples end in sums."""
        inside = dict.fromkeys(block_operations(self.body)[:-1])
        users = [use.owner.operation for value in self.values for use in value.uses]
        return bool(self.sums) and all(user in inside for user in users)


def _hoist(scaled: ScaledSums) -> bool:
    """Make sums without the factor, and multiply them by it behind the loop."""
    if not scaled.is_known:
        return False
    loop = scaled.loop.op
    for number, op in scaled.sums.items():
        first, result = loop.operands[3 + number], loop.results[number]
        uses = list(result.uses)
        marks = attributes_of(op)
        with before(loop):
            loop.operands[3 + number] = b.number(0.0, result.type)
        with behind(loop):
            times = b.mulf(result, scaled.factor, **marks)
            total = b.addf(first, times, **marks)
            if not certainly_runs(loop):
                runs = b.compare(b.SLT, loop.operands[0], loop.operands[1])
                total = b.select(runs, total, first)
        for use in uses:
            use.owner.operation.operands[use.operand_number] = total
    for product in scaled.products:
        left, right = product.operands
        if product.name == Arith.DIVF:
            with before(loop):
                product.operands[0] = b.number(1.0, left.type)
        else:
            product.results[0].replace_all_uses_with(right if left == scaled.factor else left)
            product.erase()
    return True
