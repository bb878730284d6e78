"""Parallel loops of which each iteration adds up products of two elements, as of a matrix product
or a convolution: over an index of each factor, and over those that are summed.

What names an element may be any function of indices: nothing is known of it but on which of them it
depends. A condition is that of a factor with all indices that it depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from mlirad.analysis.contractions.limits import gap_of
from mlirad.analysis.linear import Linear, extent_of
from mlirad.analysis.trips import span_of
from mlirad.analysis.zero_guards import guard_of
from mlirad.bindings import ir
from mlirad.dialect.field import is_load, is_write, makes_array, split_access
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith, Gpu, Scf
from mlirad.ir.pure_operations import is_integer_division, is_pure
from mlirad.ir.structured import For, If, Parallel, is_branch, is_for
from mlirad.ir.walk import (
    Array,
    accesses,
    array_root,
    block_operations,
    conjuncts,
    constant_integer,
    defining_op,
    is_defined_in,
    is_inside,
    is_zero,
    operations,
)

_STEPS = (Arith.ADDF, Arith.SUBF)
_MOST_STEPS = 12  # from elements to a factor, which each block of its row or column takes anew
_WAITING = (Gpu.BARRIER, Gpu.SHUFFLE, Gpu.ALL_REDUCE, Gpu.THREAD_ID, Gpu.BLOCK_ID)


class Condition(NamedTuple):
    """A condition, or its negation."""

    value: ir.Value
    holds: bool


class Factor(msgspec.Struct, eq=False):
    """A number that is computed of elements that are read, and where it counts; elsewhere it is
    0."""

    value: ir.Value
    loads: list[ir.Operation]
    conditions: list[Condition]
    is_always_read: bool = True  # where its conditions hold, whatever those of the other say


class ThreadProducts(msgspec.Struct, frozen=True, eq=False):
    """A sum of products in each iteration of a loop: axes of the loop that the left factor depends
    on, and the right one does not, the other way around, and the axes that are left."""

    loop: ir.Operation
    nest: ir.Operation  # whose result is the sum
    sums: list[For]
    product: ir.Operation
    step: ir.Operation
    left: Factor
    right: Factor
    rows: list[int]
    columns: list[int]
    batches: list[int]
    is_negative: bool  # they are taken away
    is_guarded: bool  # there are points at which an iteration multiplies nothing

    def swapped(self) -> ThreadProducts:
        """Return the same, the factors in the other order."""
        return msgspec.structs.replace(
            self, left=self.right, right=self.left, rows=self.columns, columns=self.rows
        )


def thread_products(loop: ir.Operation) -> ThreadProducts | None:
    """Return the contraction that a parallel loop is, or None if that is not certain."""
    body = block_operations(Parallel(loop).body)[:-1]
    nests = [op for op in body if is_for(op)]
    if len(nests) != 1 or not is_quiet(nests[0]):
        return None
    if any(is_large(op) for op in body if op != nests[0]):
        return None
    chain = _Chain()
    if not chain.follow_loop(nests[0]) or chain.product is None or chain.step is None:
        return None
    return _Roles(loop, nests[0], chain).products()


def is_quiet(op: ir.Operation) -> bool:
    """Return whether an op, with all in it, does nothing but compute, and read."""
    return all(
        is_pure(inner)
        or is_load(inner)
        or is_for(inner)
        or is_branch(inner)
        or inner.name == Scf.YIELD
        for inner in (op, *operations(op))
    )


def is_large(op: ir.Operation) -> bool:
    """Return whether an op is, or holds, what copies of are not made."""
    return any(
        makes_array(inner)
        or (len(inner.regions) and not is_branch(inner))
        or inner.name in _WAITING
        for inner in (op, *operations(op))
    )


class _Chain:
    """From a loop to the product that it adds up."""

    def __init__(self) -> None:
        self.sums: list[For] = []
        self.conditions: list[Condition] = []
        self.product: ir.Operation | None = None
        self.step: ir.Operation | None = None
        self.is_negative = self.is_guarded = False

    def follow_loop(self, op: ir.Operation) -> bool:
        """Return whether a loop does nothing but add products to what it carries."""
        loop = For(op)
        if len(loop.carried) != 1:
            return False
        self.sums.append(loop)
        (total,) = block_operations(loop.body)[-1].operands
        return self._follow_sum(total, loop.carried[0])

    def without_sign(self, value: ir.Value) -> ir.Value:
        """Return a factor without its sign, which the chain takes."""
        op = defining_op(value)
        if op is None or op.name != Arith.NEGF or is_bound(op):
            return value
        self.is_negative = not self.is_negative
        return op.operands[0]

    def _follow_sum(self, total: ir.Value, carried: ir.Value) -> bool:
        """Follow what is added to a value that is carried."""
        op = defining_op(total)
        if op is None:
            return False
        if is_for(op):
            return op.operands[3] == carried and self.follow_loop(op)
        if is_branch(op):
            return self._follow_branch(op, total, carried)
        if op.name not in _STEPS or is_bound(op):
            return False
        left, right = op.operands
        self.is_negative ^= op.name == Arith.SUBF
        if left == carried:
            return self._follow_addend(right, op)
        return op.name == Arith.ADDF and right == carried and self._follow_addend(left, op)

    def _follow_branch(self, op: ir.Operation, total: ir.Value, carried: ir.Value) -> bool:
        if len(If(op).blocks) != 2 or len(op.results) != 1:
            return False
        then, otherwise = _branch_values(op)
        if otherwise == carried:
            self.conditions.append(Condition(op.operands[0], True))
            return self._follow_sum(then, carried)
        if then == carried:
            self.conditions.append(Condition(op.operands[0], False))
            return self._follow_sum(otherwise, carried)
        return False

    def _follow_addend(self, value: ir.Value, step: ir.Operation) -> bool:
        """Follow what is added: a product, 0 elsewhere, or a sum of them."""
        value, conditions = _counted(value)
        self.conditions += conditions
        op = defining_op(value)
        if op is None:
            return False
        guard = guard_of(op)
        if guard is not None and guard.witness is None:
            self.is_guarded = True
            return self._follow_addend(guard.value, step)
        if op.name == Arith.NEGF and not is_bound(op):
            self.is_negative = not self.is_negative
            return self._follow_addend(op.operands[0], step)
        if is_for(op):
            return is_zero(op.operands[3]) and self.follow_loop(op)
        if op.name != Arith.MULF or is_bound(op):
            return False
        self.product, self.step = op, step
        return True


def _branch_values(op: ir.Operation) -> list[ir.Value]:
    return [block_operations(block)[-1].operands[0] for block in If(op).blocks]


def _counted(value: ir.Value) -> tuple[ir.Value, list[Condition]]:
    """Return what a value is under conditions, where it is 0 elsewhere."""
    conditions: list[Condition] = []
    while True:
        op = defining_op(value)
        if op is None:
            return value, conditions
        if is_branch(op) and len(op.results) == 1 and len(If(op).blocks) == 2:
            choice = _branch_values(op)
        elif op.name == Arith.SELECT and guard_of(op) is None:
            choice = list(op.operands)[1:]
        else:
            return value, conditions
        zeros = [is_zero(value) for value in choice]
        if zeros not in ([False, True], [True, False]):
            return value, conditions
        conditions.append(Condition(op.operands[0], zeros[1]))
        value = choice[zeros.index(False)]


def _factor(value: ir.Value, loop: ir.Operation) -> Factor | None:
    """Return the factor that an operand of a product is, without its sign."""
    value, conditions = _counted(value)
    loads: list[ir.Operation] = []
    pending, done = [value], {value}
    while pending:
        op = defining_op(pending.pop())
        if op is None or not is_inside(op, loop):
            continue
        if is_load(op):
            loads.append(op)
            continue
        if not is_pure(op) or len(done) > _MOST_STEPS:
            return None
        operands = [operand for operand in op.operands if operand not in done]
        done.update(operands)
        pending += operands
    return Factor(value, loads, conditions) if loads else None


class _Roles:
    """The roles of the axes of a loop for the factors."""

    def __init__(self, loop: ir.Operation, nest: ir.Operation, chain: _Chain) -> None:
        self.loop, self.nest, self.chain = loop, nest, chain
        self.axes = Parallel(loop).indices
        self.inner = {sum_.induction for sum_ in chain.sums}

    def products(self) -> ThreadProducts | None:
        """Return what the loop is, with the factors as they stand."""
        product, step = self.chain.product, self.chain.step
        assert product is not None and step is not None
        factors = [_factor(self.chain.without_sign(value), self.loop) for value in product.operands]
        left, right = factors
        if left is None or right is None or not self._is_settled([left, right]):
            return None
        names = [self._names_of_factor(factor) for factor in (left, right)]
        if names[0] is None or names[1] is None:
            return None
        rows = [axis for axis in self._axes(names[0]) if axis not in self._axes(names[1])]
        columns = [axis for axis in self._axes(names[1]) if axis not in self._axes(names[0])]
        batches = [a for a in range(len(self.axes)) if a not in (*rows, *columns)]
        bounds = [value for sum_ in self.chain.sums for value in list(sum_.op.operands)[:3]]
        if any(is_defined_in(value, self.loop) for value in bounds):
            return None
        if not self._share_conditions(left, right, (rows, columns)):
            return None
        return ThreadProducts(
            loop=self.loop,
            nest=self.nest,
            sums=self.chain.sums,
            product=product,
            step=step,
            left=left,
            right=right,
            rows=rows,
            columns=columns,
            batches=batches,
            is_negative=self.chain.is_negative,
            is_guarded=self.chain.is_guarded or bool(left.conditions or right.conditions),
        )

    def _axes(self, names: set[ir.Value]) -> list[int]:
        return [axis for axis, index in enumerate(self.axes) if index in names]

    def _is_settled(self, factors: Sequence[Factor]) -> bool:
        """Return whether the loop leaves the factors as they are, and writes behind the sum."""
        loads = [load for factor in factors for load in factor.loads]
        roots = {array_root(split_access(load)[0]) for load in loads}
        body = block_operations(Parallel(self.loop).body)
        in_front = body[: body.index(self.nest)]
        written: set[Array] = {root for op, root, _ in accesses(self.loop) if is_write(op)}
        return not roots & written and not any(map(is_write, in_front))

    def _names_of_factor(self, factor: Factor) -> set[ir.Value] | None:
        """The indices that a factor depends on; None where it depends on anything else."""
        if any(is_defined_in(split_access(load)[0], self.loop) for load in factor.loads):
            return None
        names = self._names([factor.value], factor.loads)
        limits = self._names([condition.value for condition in factor.conditions])
        return None if names is None or limits is None else names | limits

    def _names(
        self, values: Sequence[ir.Value], loads: Sequence[ir.Operation] = ()
    ) -> set[ir.Value] | None:
        """The indices that values depend on, which are computed of them and of some loads; None
        where they depend on anything else."""
        names: set[ir.Value] = set()
        pending, done = list(values), set(values)
        while pending:
            value = pending.pop()
            if not is_defined_in(value, self.loop):
                continue
            op = defining_op(value)
            if op is None:
                if value not in self.inner and value not in self.axes:
                    return None
                names.add(value)
                continue
            if not is_pure(op) and op not in loads:
                return None
            if is_integer_division(op) and not constant_integer(op.operands[1]):
                return None  # it is computed where the program does not
            operands = split_access(op)[1] if op in loads else list(op.operands)
            new_values = [operand for operand in operands if operand not in done]
            done.update(new_values)
            pending += new_values
        return names

    def _share_conditions(
        self, left: Factor, right: Factor, axes: tuple[list[int], list[int]]
    ) -> bool:
        """Give each condition of the product to the factor that has all indices of it; False where
        none has."""
        for condition in self.chain.conditions:
            if condition.holds and all(map(_always_holds, conjuncts(condition.value))):
                continue
            names = self._names([condition.value])
            if names is None:
                return False
            has_rows, has_columns = (any(a in axes_ for a in self._axes(names)) for axes_ in axes)
            if has_rows and has_columns:
                return False
            for factor, has_all in ((left, not has_columns), (right, not has_rows)):
                if has_all:
                    factor.conditions.append(condition)
                elif any(self._is_under(load, condition) for load in factor.loads):
                    factor.is_always_read = False
        return True

    def _is_under(self, load: ir.Operation, condition: Condition) -> bool:
        """Return whether an element is read only where a condition holds."""
        op = load.parent
        while op is not None and op.operation != self.loop:
            if is_branch(op) and op.operation.operands[0] == condition.value:
                return True
            op = op.operation.parent
        return False


def _always_holds(condition: ir.Value) -> bool:
    """Return whether a comparison of indices holds for all of their values."""
    gap = gap_of(defining_op(condition))
    ends = None if gap is None else range_of(gap)
    return ends is not None and ends[0] >= 0


def range_of(form: Linear[ir.Value]) -> tuple[int, int] | None:
    """The least and the greatest number that a sum of indices is; None where that is not known."""
    intervals = {}
    for name in form.names:
        span = span_of(name)
        if span is None or span.low is None or span.high is None or not span.runs:
            return None
        intervals[name] = (span.low, span.high - 1)
    return extent_of(form, intervals)
