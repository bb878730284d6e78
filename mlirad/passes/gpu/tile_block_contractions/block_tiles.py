"""Blocks that make tiles of sums in the place of a loop, and what is done with the sums."""

from __future__ import annotations

from mlirad.analysis.contractions.thread_products import (
    ThreadProducts,
    is_quiet,
    thread_products,
)
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic
from mlirad.ir.gpu.box_points import Values
from mlirad.ir.gpu.partial_sums import PartialSums, from_initial
from mlirad.ir.pure_operations import is_integer_division, is_pure
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import (
    before,
    block_operations,
    clone,
    constant_integer,
    is_defined_in,
    operations,
)
from mlirad.passes.gpu.tile_block_contractions.panels import along_memory
from mlirad.passes.gpu.tile_block_contractions.product_updates import loops_of_updates
from mlirad.passes.gpu.tile_block_contractions.shared_sums import unshared
from mlirad.passes.gpu.tile_block_contractions.tile_code import TileCode
from mlirad.passes.gpu.tile_block_contractions.tile_shape import choose_cut, operations_of_a_sum

_TYPES = ("f32", "f64")
_MOST_COPIED = 32  # operations that a thread does with each of its sums


def make_tiles(module: ir.Operation, loop: ir.Operation, least: int) -> None:
    """Put blocks that make tiles in the place of a loop, or of its updates, if these are
    contractions and that pays."""
    _hoist_numbers(loop)
    count = 0
    for update, candidate in loops_of_updates(loop):
        if _make_tiles(module, candidate, least):
            update.erase()
            count += 1
        else:
            candidate.erase()
    if count and all(map(is_quiet, block_operations(Parallel(loop).body)[:-1])):
        loop.erase()
        return
    copy = unshared(loop)
    if copy is None:
        _make_tiles(module, loop, least)
    elif _make_tiles(module, copy, least):
        loop.erase()
    else:
        copy.erase()


def _hoist_numbers(loop: ir.Operation) -> None:
    """Compute integers that are the same in all iterations, as bounds are, in front of a loop."""
    for op in list(operations(loop)):
        if (
            is_pure(op)
            and isinstance(op.results[0].type, ir.IndexType | ir.IntegerType)
            and not is_integer_division(op)
            and not any(is_defined_in(operand, loop) for operand in op.operands)
        ):
            op.move_before(loop)


def _make_tiles(module: ir.Operation, loop: ir.Operation, least: int) -> bool:
    """Return whether blocks that make tiles are in the place of a loop now."""
    products = thread_products(loop)
    if products is None or str(products.step.results[0].type) not in _TYPES:
        return False
    if len(Parallel(loop).indices) - 1 in products.rows:
        products = products.swapped()
    sums = _in_order(products)
    if sum(not _is_constant(sum_) for sum_ in sums) > 1:
        return False
    is_apart = operations_of_a_sum(products) > _MOST_COPIED or _meets_others(products)
    cut = choose_cut(products, least)
    if cut is None:
        return False
    if cut.shares == 1 and not is_apart:
        with before(loop):
            TileCode(products, cut, sums, _Iterations(products)).emit()
        loop.erase()
    elif None in [span.trips for span in spans(loop)]:
        return False
    else:
        partial_sums = PartialSums(module, loop, products.nest, cut.shares)
        with before(loop):
            TileCode(products, cut, sums, _Parts(partial_sums)).emit()
        partial_sums.add_up(is_checked=products.is_guarded)
    return True


def _is_constant(sum_: For) -> bool:
    return all(constant_integer(value) is not None for value in list(sum_.op.operands)[:3])


def _in_order(products: ThreadProducts) -> list[For]:
    """The loops of a sum as they are counted through: those of unknown length outside, innermost
    one along which memory is read."""
    indices = [sum_.induction for sum_ in products.sums]
    last = along_memory([products.left, products.right], indices)

    def rank(sum_: For) -> int:
        is_last = last is not None and sum_.induction == last
        return 1 + is_last if _is_constant(sum_) else 0

    return sorted(products.sums, key=rank)


def _meets_others(products: ThreadProducts) -> bool:
    """Return whether iterations update what others update, which has an order elsewhere."""
    return any(
        is_atomic(op) and PLAIN_MARK not in op.attributes for op in operations(products.loop)
    )


class _Iterations:
    """Does with a sum what an iteration of the loop does."""

    def __init__(self, products: ThreadProducts) -> None:
        self.products = products
        self.is_checked = products.is_guarded

    def finish(self, values: Values, total: ir.Value, _: ir.Value) -> None:
        """Do what an iteration does, in its place."""
        nest, values_of = self.products.nest, dict(values)
        for op in block_operations(Parallel(self.products.loop).body)[:-1]:
            if op != nest:
                clone(op, values_of)
                continue
            initial = values_of.get(nest.operands[3], nest.operands[3])
            values_of[nest.results[0]] = from_initial(initial, total)

    def run(self, values: Values) -> None:
        """Run an iteration as it is."""
        values_of = dict(values)
        for op in block_operations(Parallel(self.products.loop).body)[:-1]:
            clone(op, values_of)


class _Parts:
    """Leaves parts of sums in memory."""

    is_checked = False

    def __init__(self, sums: PartialSums) -> None:
        self.sums = sums

    def finish(self, values: Values, total: ir.Value, share: ir.Value) -> None:
        """Leave a part of a sum."""
        self.sums.store(values, [total], share)

    def run(self, values: Values) -> None:
        """Raise AssertionError: this is never called."""
        raise AssertionError("parts are not checked")
