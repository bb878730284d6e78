"""The parts that are split out of one nest of loops and become nests of their own."""

from __future__ import annotations

from msgspec.structs import replace

from mlirad.analysis.contractions.contraction import Contraction, Index
from mlirad.analysis.contractions.elements import Element, memory_of
from mlirad.analysis.contractions.tile_plan import plan, size
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.marks.axis_choices import choice_of
from mlirad.ir.structured import For
from mlirad.passes.loops.split_contractions.buffers import Buffers
from mlirad.passes.loops.split_contractions.nest import SplitNest
from mlirad.passes.loops.split_contractions.products import (
    Factor,
    KeptValue,
    NestParts,
    Product,
    Products,
    Sum,
)
from mlirad.passes.loops.split_contractions.short_loops import write_out

_LANES, _REGISTERS = 16, 32  # whether there is a tile does not depend on how many there are


class Splitting:
    """The sums of products of a nest that pay."""

    def __init__(self, loop: ir.Operation, least: int) -> None:
        self.loop, self.least, self.buffers = loop, least, Buffers(loop)

    def run(self) -> bool:
        """Split the nest; False where there is nothing to split, or that does not pay."""
        return self._split() or (write_out(self.loop) and self._split())

    def _split(self) -> bool:
        products = Products(self.loop)
        if not products.is_known:
            return False
        updates = [
            update
            for update in products.updates()
            if all(self._pays(product, update.element) for product in update.products)
        ]
        sums = self._sums(products)
        all_products = [p for update in updates for p in update.products]
        all_products += [p for sum_ in sums for p in sum_.products]
        factors = [factor for product in all_products for factor in product.factors]
        kept_values = {f.value for f in factors if isinstance(f, KeptValue)}
        read = {memory_of(f.memref) for f in factors if isinstance(f, Element)}
        clears = [write for memory, write in products.cleared.items() if memory in read]
        self.buffers.keep_only(kept_values | {s.result for s in sums if s.target is None})
        if all_products:
            SplitNest(self.loop, NestParts(sums, updates, clears), self.buffers).run()
        return bool(all_products)

    def _sums(self, products: Products) -> list[Sum]:
        """The sums that pay; those of inner loops that are parts of others go with these."""
        sums: list[Sum] = []
        inner_sums: set[ir.Value] = set()
        for sum_ in products.sums():  # outer loops first
            paid = None if sum_.result in inner_sums else self._paying_sum(sum_)
            if paid is not None:
                sums.append(paid)
                inner_sums.update(sum_.inner_sums())
        return sums

    def _paying_sum(self, sum_: Sum) -> Sum | None:
        """A sum, made in place if it may be; None where it does not pay."""
        target = sum_.target
        if target is not None and all(self._pays(p, target.element) for p in sum_.products):
            return sum_
        buffer = self.buffers.buffer_of(sum_.result, sum_.outer)
        if buffer is not None and all(self._pays(p, buffer.element) for p in sum_.products):
            return replace(sum_, target=None)
        return None

    def _pays(self, product: Product, output: Element) -> bool:
        elements = {
            factor: element
            for factor in product.factors
            if (element := self._element(factor)) is not None
        }
        if not elements.keys() >= {*product.factors}:
            return False
        indices = tuple(_index(loop) for loop in product.loops)
        nest = Contraction(self.loop, indices, output, (product.term(elements.__getitem__),))
        return size(nest) >= self.least and plan(nest, _LANES, _REGISTERS) is not None

    def _element(self, factor: Factor) -> Element | None:
        if isinstance(factor, Element):
            return factor
        buffer = self.buffers.buffer_of(factor.value, factor.loops)
        return None if buffer is None else buffer.element


def _index(loop: ir.Operation) -> Index:
    low, high = loop.operands[0], loop.operands[1]
    return Index(For(loop).induction, low, high, spans(loop)[0].trips, choice_of(loop))
