"""A nest in three parts: sums of products, what is left of it, and updates by products."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

from mlirad.analysis.contractions.elements import Element
from mlirad.analysis.contractions.limits import Limits, LimitsOf
from mlirad.analysis.contractions.places import Places, Point
from mlirad.analysis.contractions.term_code import add_term, limit_tests
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import fold
from mlirad.ir.marks.axis_choices import choice_of, set_choice
from mlirad.ir.marks.rounding import loose_mark
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.structured import For
from mlirad.ir.walk import (
    at_end,
    before,
    behind,
    block_operations,
    constant_integer,
    has_uses,
    is_zero,
    operations,
    owner_operation,
)
from mlirad.passes.loops.split_contractions.bands import rows_of_band
from mlirad.passes.loops.split_contractions.buffers import Buffer, Buffers
from mlirad.passes.loops.split_contractions.products import (
    Factor,
    KeptValue,
    NestParts,
    Product,
    Sum,
    erase_unused,
)


class SplitNest:
    """The parts of one nest."""

    def __init__(self, root: ir.Operation, parts: NestParts, buffers: Buffers) -> None:
        self.root, self.parts, self.buffers = root, parts, buffers
        self.totals: dict[ir.Value, ir.Value] = {}  # what stands for the results of loops

    def run(self) -> None:
        """Split the nest."""
        block = self.buffers.block or rows_of_band(self.root, self.parts.updates)
        if block is not None and self._is_longer(block):
            self._cut(block)
        with before(self.root):
            for sum_ in self.parts.sums:
                self._make_sum(sum_)
        for sum_ in self.parts.sums:
            self._use_sum(sum_)
        updates = self.parts.updates
        factors = [f for u in updates for p in u.products for f in p.factors]
        for value in dict.fromkeys(f.value for f in factors if isinstance(f, KeptValue)):
            self._keep(value)
        with behind(self.root):
            for update in updates:
                self._add_all(update.products, update.element)
            for clear in self.parts.clears:
                _fill(clear.loops, clear.element, clear.store.operands[0])
        for store in [*(u.store for u in updates), *(c.store for c in self.parts.clears)]:
            store.erase()
        erase_unused(self.root)
        stores = any(op.name == Memref.STORE for op in operations(self.root))
        if not stores and not any(has_uses(result) for result in self.root.results):
            self.root.erase()

    def _is_longer(self, block: int) -> bool:
        low, high = (constant_integer(bound) for bound in list(self.root.operands)[:2])
        return low is None or high is None or high - low > block

    def _cut(self, size: int) -> None:
        """Run the nest for so many iterations of its outermost loop at once."""
        root = self.root
        low, high, _, *initial = root.operands
        with before(root):
            blocks = b.for_loop(low, high, b.index(size), initial)
        for old, new in zip(list(root.results), list(blocks.results)):
            old.replace_all_uses_with(new)
        with at_end(blocks.body, root.location):
            end = b.add(blocks.induction, b.index(size))
            last = b.minsi(end, high)
            b.yield_(list(root.results))
        root.move_before(block_operations(blocks.body)[-1])
        for position, value in enumerate((blocks.induction, last)):
            root.operands[position] = value
        for position, value in enumerate(blocks.carried):
            root.operands[3 + position] = value

    def _element(self, factor: Factor) -> Element:
        if isinstance(factor, Element):
            return factor
        return self._buffer(factor.value).element

    def _buffer(self, value: ir.Value) -> Buffer:
        buffer = self.buffers.made[value]
        assert buffer is not None, "a value without a buffer"
        return buffer

    def _keep(self, value: ir.Value) -> None:
        element, value = self._buffer(value).element, self.totals.get(value, value)
        with behind(owner_operation(value)):
            b.write(value, element.memref, Places([]).indices_of(element, {}, {}))

    def _make_sum(self, sum_: Sum) -> None:
        """Add up the products of a sum: in its place, or in its buffer."""
        if sum_.target is None:
            output, first = self._buffer(sum_.result).element, b.number(0.0, sum_.result.type)
        else:
            output, first = sum_.target.element, sum_.loop.operands[3 + sum_.position]
        _fill(sum_.outer, output, first)
        self._add_all(sum_.products, output)

    def _add_all(self, products: Sequence[Product], output: Element) -> None:
        """Add products to elements, those in the same loops and of the same arrays together."""
        together: dict[Hashable, list[Product]] = {}
        for product in products:
            together.setdefault((product.loops, product.sources), []).append(product)
        for some in together.values():
            self._add_up(some, output)

    def _use_sum(self, sum_: Sum) -> None:
        """Read a sum where it was made."""
        initial = sum_.loop.operands[3 + sum_.position]
        if sum_.target is not None:
            sum_.target.store.erase()
        else:
            element = self._buffer(sum_.result).element
            with behind(sum_.loop):
                total = b.read(element.memref, Places([]).indices_of(element, {}, {}))
                if not is_zero(initial):
                    total = b.addf(initial, total, **loose_mark())
            sum_.result.replace_all_uses_with(total)
            self.totals[sum_.result] = total
        body = For(sum_.loop).body
        block_operations(body)[-1].operands[sum_.position] = body.arguments[1 + sum_.position]

    def _add_up(self, products: Sequence[Product], output: Element) -> None:
        """A nest of loops that adds products to elements: one within its limits, or several, each
        where it is within its own."""
        loops = products[0].loops
        ordered = products[0].loops_to(output)
        places = Places([For(loop).induction for loop in loops])
        if len(products) == 1:
            bounds = _bounds(ordered, products[0].limits)
            _nest(ordered, bounds, {}, partial(self._add, products[0], output, places))
            return

        def add(point: Point) -> None:
            for product in products:
                tests = limit_tests(product.limits, point, places)
                if not tests:
                    self._add(product, output, places, point)
                    continue
                branch = b.if_else(b.all_of(tests), [], with_else=False)
                with at_end(branch.then, product.location):
                    self._add(product, output, places, point)
                    b.yield_()

        _nest(ordered, {}, {}, add)

    def _add(self, product: Product, output: Element, places: Places, point: Point) -> None:
        """Add a product to an element at a point."""
        term = product.term(self._element)
        with product.location:
            add_term(term, output, places, point)


Bounds = dict[ir.Operation, tuple[ir.Value, ir.Value]]


def _bounds(loops: Sequence[ir.Operation], limits: LimitsOf) -> Bounds:
    """The bounds of loops within limits, made in front of all of them."""
    places, bounds = Places([]), {}
    for loop in loops:
        low, high = list(loop.operands)[:2]
        loop_limits = limits.get(For(loop).induction, Limits())
        for form in loop_limits.lower:
            low = fold(Arith.MAXSI, low, places.sum(form, {}, {}))
        for form in loop_limits.upper:
            high = fold(Arith.MINSI, high, places.sum(form, {}, {}))
        bounds[loop] = low, high
    return bounds


def _nest(
    loops: Sequence[ir.Operation], bounds: Bounds, point: Point, run: Callable[[Point], None]
) -> None:
    """Run something for all points of some loops, made anew."""
    if not loops:
        run(point)
        return
    first, *inner_loops = loops
    low, high = bounds.get(first, (first.operands[0], first.operands[1]))
    loop = b.for_loop(low, high, b.index(1))
    set_choice(loop.op, choice_of(first))
    with at_end(loop.body, first.location):
        _nest(inner_loops, bounds, {**point, For(first).induction: loop.induction}, run)
        b.yield_()


def _fill(loops: Sequence[ir.Operation], element: Element, value: ir.Value) -> None:
    """Write a value to the elements of all points of some loops."""
    places = Places([For(loop).induction for loop in loops])
    _nest(
        loops, {}, {}, lambda at: b.write(value, element.memref, places.indices_of(element, at, {}))
    )
