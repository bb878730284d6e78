"""Elements that iterations of a loop add products to, as loops of their own: an iteration adds up
what one element gets.

The reverse of a matrix product adds to both gradients from every iteration. An element is named by
some of the indices, and gets a product for each value of the others: these become serial loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect.field import (
    AtomicKind,
    atomic_kind,
    is_atomic,
    is_load,
    is_store,
    is_write,
    split_access,
)
from mlirad.ir import build as b
from mlirad.ir.box import Bounds, bounds_of_index
from mlirad.ir.gpu.box_points import Point, Values
from mlirad.ir.marks.rounding import is_exact, update_marks
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.structured import is_for
from mlirad.ir.walk import (
    array_root,
    at_end,
    before,
    block_operations,
    copy_with,
    defining_op,
    enclosing,
    has_uses,
    is_defined_in,
    operations,
)


def loops_of_updates(loop: ir.Operation) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """Yield updates of a loop, each with a loop in front of it that would make them."""
    for update in [op for op in operations(loop) if is_atomic(op)]:
        writes = [op for op in operations(loop) if is_write(op)]
        if _is_sum(update, writes):
            indices = _Indices(loop, update)
            if indices.are_simple and _may_be_earlier(update, loop, writes):
                with before(loop):
                    yield update, indices.loop_of_elements()


def _is_sum(update: ir.Operation, writes: Sequence[ir.Operation]) -> bool:
    """Return whether an update adds to an array that nothing else is done with but to add."""
    root = array_root(split_access(update)[0])
    same = [op for op in writes if array_root(split_access(op)[0]) == root]
    return all(
        is_atomic(op)
        and atomic_kind(op) == AtomicKind.ADD
        and not is_exact(op)
        and not has_uses(op.results[0])
        for op in same
    )


def _may_be_earlier(
    update: ir.Operation, loop: ir.Operation, writes: Sequence[ir.Operation]
) -> bool:
    """Return whether what an update adds is computed of numbers, and of elements as they are in
    front of the loop: the loop leaves them, or changes them only where it has read them; and
    whether nothing reads what it adds to."""
    slice_ = _slice(update.operands[0], loop)
    if slice_ is None:
        return False
    root = array_root(split_access(update)[0])
    if any(is_load(op) and array_root(split_access(op)[0]) == root for op in operations(loop)):
        return False
    return all(
        _is_behind(op, load)
        for load in slice_
        for op in writes
        if array_root(split_access(load)[0]) == array_root(split_access(op)[0])
    )


def _is_behind(write: ir.Operation, load: ir.Operation) -> bool:
    """Return whether an iteration stores to the element that it has read."""
    if not is_store(write) or write.block != load.block:
        return False
    ops = block_operations(load.block)
    return ops.index(load) < ops.index(write) and split_access(write)[1] == split_access(load)[1]


def _slice(value: ir.Value, loop: ir.Operation) -> list[ir.Operation] | None:
    """The loads that a value is computed of in a loop; None where it is not of these alone."""
    loads: list[ir.Operation] = []
    pending, done = [value], {value}
    while pending:
        value = pending.pop()
        op = defining_op(value)
        if op is None or not is_defined_in(value, loop):
            continue
        if is_load(op):
            loads.append(op)
            if is_defined_in(op.operands[0], loop):
                return None
        elif not is_pure(op):
            return None
        operands = [operand for operand in op.operands if operand not in done]
        done.update(operands)
        pending += operands
    return loads


class _Indices:
    """The indices of a loop, and of serial loops in it, around an update: those that name its
    element, and the others."""

    def __init__(self, loop: ir.Operation, update: ir.Operation) -> None:
        self.loop, self.update = loop, update
        owners = _owners(update, loop)
        all_indices = [
            index
            for op in owners
            if is_for(op) or op == loop
            for index in list(op.regions[0].blocks[0].arguments)[: 1 if is_for(op) else None]
        ]
        self.elements = self._names()
        self.sums = [index for index in all_indices if index not in self.elements]
        bounds = [value for index in all_indices for value in _bounds(index)]
        self.are_simple = (
            all(map(is_for, owners[1:]))
            and len(self.elements) > 1
            and bool(self.sums)
            and all(index in all_indices for index in self.elements)
            and not any(is_defined_in(value, loop) for value in bounds)
        )

    def _names(self) -> list[ir.Value]:
        """The indices that each name an element along an axis of their own, in the order of the
        axes; none where that is not all that names it."""
        names = []
        for index in split_access(self.update)[1]:
            leaves = [name for name in linear_form(index).names if is_defined_in(name, self.loop)]
            if len(leaves) > 1 or any(name in names for name in leaves):
                return []
            names += leaves
        return names

    def loop_of_elements(self) -> ir.Operation:
        """A loop over the elements, made at the insertion point."""
        lower, upper, steps = zip(*map(_bounds, self.elements))
        elements = b.parallel_loop(lower, upper, steps)
        with at_end(elements.body, self.update.location):
            point: Values = dict(zip(self.elements, elements.indices))
            zero = b.number(0.0, self.update.operands[0].type)
            total = self._sum(self.sums, point, zero)
            place = Point(self.loop, point)
            operands = [total, *(place.value(v) for v in list(self.update.operands)[1:])]
            copy = copy_with(self.update, operands)
            copy.attributes[PLAIN_MARK] = ir.UnitAttr.get()
            b.end_parallel()
        return elements.op

    def _sum(self, indices: Sequence[ir.Value], point: Values, initial: ir.Value) -> ir.Value:
        if not indices:
            value = Point(self.loop, point).value(self.update.operands[0])
            return b.addf(initial, value, **update_marks(self.update))
        loop = b.for_loop(*_bounds(indices[0]), [initial])
        with at_end(loop.body, self.update.location):
            inner = {**point, indices[0]: loop.induction}
            b.yield_([self._sum(indices[1:], inner, loop.carried[0])])
        return loop.results[0]


def _owners(update: ir.Operation, loop: ir.Operation) -> list[ir.Operation]:
    """The operations around an update, from a loop on."""
    owners = [enclosing(update)]
    while owners[0] != loop:
        owners.insert(0, enclosing(owners[0]))
    return owners


def _bounds(index: ir.Value) -> Bounds:
    bounds = bounds_of_index(index)
    assert bounds is not None, "an index of a loop"
    return bounds
