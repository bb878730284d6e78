"""Finding what a nest of loops adds up: products of elements, or of values that it computes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mlirad.analysis.contractions.contraction import Term
from mlirad.analysis.contractions.elements import Element, element_of, memory_of
from mlirad.analysis.contractions.limits import LimitsOf, copy_limits, narrow
from mlirad.analysis.zero_guards import guarded_product, without_sign
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith, Memref, Scf
from mlirad.ir.structured import For, If, is_branch, is_for
from mlirad.ir.walk import (
    block_operations,
    constant_integer,
    defining_op,
    enclosing,
    has_uses,
    is_defined_in,
    is_inside,
    is_zero,
    operations,
)
from mlirad.passes.loops.split_contractions.addends import (
    Addend,
    branch_values,
    chain_addends,
    loop_addends,
    update_step,
    value_addends,
    yielded_value,
)

_QUIET = ("arith.", "math.", Scf.FOR, Scf.IF, Scf.YIELD, Memref.LOAD, Memref.STORE)


class KeptValue(msgspec.Struct, frozen=True):
    """A value that a nest computes once for every point of some of its loops."""

    value: ir.Value
    loops: tuple[ir.Operation, ...]


Factor = Element | KeptValue


class Product(msgspec.Struct, frozen=True, eq=False):
    """A product that is added up, in some loops, for the indices within some limits."""

    loops: tuple[ir.Operation, ...]
    limits: LimitsOf
    left: Factor
    right: Factor
    is_negative: bool
    guards: tuple[bool, bool]  # which factors make it 0, whatever the other one is, if they are 0
    witness: tuple[Factor, Factor] | None  # it is 0 where these give a NaN and the first is 0
    location: ir.Location

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All that is read for it."""
        return (self.left, self.right, *(self.witness or ()))

    def term(self, element: Callable[[Factor], Element]) -> Term:
        """Return the term of a contraction that it is, without its limits."""
        witness = None
        if self.witness is not None:
            witness = (element(self.witness[0]), element(self.witness[1]))
        left, right = element(self.left), element(self.right)
        return Term(left, right, self.is_negative, {}, self.guards, witness)

    @property
    def sources(self) -> frozenset[Hashable]:
        """Return the arrays of the factors: products of the same arrays go into one nest."""
        return frozenset(
            memory_of(factor.memref) if isinstance(factor, Element) else factor.value
            for factor in (self.left, self.right)
        )

    def loops_to(self, output: Element) -> tuple[ir.Operation, ...]:
        """Return the loops in the order in which they add to an element: those that move it are
        outside."""
        moving = [loop for loop in self.loops if output.moves_with(For(loop).induction)]
        return (*moving, *(loop for loop in self.loops if loop not in moving))


class Update(msgspec.Struct, frozen=True, eq=False):
    """`element += products` in memory."""

    store: ir.Operation
    element: Element
    products: list[Product]


class Write(msgspec.Struct, frozen=True, eq=False):
    """A store that is the only one to its element, of memory that the nest stores to nowhere
    else."""

    store: ir.Operation
    element: Element
    loops: tuple[ir.Operation, ...]


class Sum(msgspec.Struct, frozen=True, eq=False):
    """A result of a loop that is a sum of products and of what it began with."""

    loop: ir.Operation
    position: int
    outer: tuple[ir.Operation, ...]  # the loops around it
    products: list[Product]
    target: Write | None  # the only use of it, where it may be made in place

    @property
    def result(self) -> ir.Value:
        """The sum."""
        return self.loop.results[self.position]

    def inner_sums(self) -> Iterator[ir.Value]:
        """The sums of inner loops that it goes on with, and which are sums in vain without it."""
        pending = [(self.loop, self.position)]
        while pending:
            loop, position = pending.pop()
            yield from self._inner(
                yielded_value(loop, position), For(loop).carried[position], pending
            )

    def _inner(
        self, value: ir.Value, carried: ir.Value, pending: list[tuple[ir.Operation, int]]
    ) -> Iterator[ir.Value]:
        """The sums of loops between two values of a chain, which are then to be looked into."""
        while value != carried:
            op = defining_op(value)
            assert op is not None, "a sum is made of operations"
            if is_for(op):
                inner = ir.OpResult(value).result_number
                yield value
                pending.append((op, inner))
                value = op.operands[3 + inner]
            elif is_branch(op):
                then, passed = branch_values(value)
                yield from self._inner(then, passed, pending)
                value = passed
            else:
                value = next(v for v in op.operands if chain_addends(v, carried, op) is not None)


class NestParts(NamedTuple):
    """The parts that are taken out of a nest."""

    sums: list[Sum]
    updates: list[Update]
    clears: list[Write]


class Products:
    """Products that one nest adds up, if it may add them in another order."""

    def __init__(self, root: ir.Operation) -> None:
        self.root = root
        self.ops = list(operations(root))
        self.touched: dict[ir.Value, list[ir.Operation]] = {}
        self.is_known = all(op.name.startswith(_QUIET) for op in self.ops)
        for op in self.ops:
            memory = self._memory(op)
            if memory is not None:
                self.touched.setdefault(memory, []).append(op)
        self.written = {
            memory
            for memory, ops in self.touched.items()
            if any(op.name == Memref.STORE for op in ops)
        }
        self.cleared = dict(self._find_cleared())

    def _memory(self, op: ir.Operation) -> ir.Value | None:
        if op.name not in (Memref.LOAD, Memref.STORE):
            return None
        memory = memory_of(op.operands[op.name == Memref.STORE])
        self.is_known = self.is_known and memory is not None
        return memory

    def updates(self) -> Iterator[Update]:
        """The updates by products of memory that the nest does nothing else with."""
        for memory, ops in self.touched.items():
            pairs = {op: update_step(op) for op in ops if op.name == Memref.STORE}
            loads = [step[0] for step in pairs.values() if step is not None]
            if memory in self.written and len(loads) == len(pairs) == len(ops) - len(loads):
                for store, step in pairs.items():
                    update = None if step is None else self._update(store, *step)
                    if update is not None:
                        yield update

    def _update(
        self, store: ir.Operation, _: ir.Operation, value: ir.Value, is_negative: bool
    ) -> Update | None:
        products = self._all_products(value_addends(value, store, is_negative))
        element = element_of(store.operands[1], list(store.operands)[2:])
        if not products or not self._is_sum_of(element, products[0].loops):
            return None
        return Update(store, element, products)

    def sums(self) -> Iterator[Sum]:
        """The results of loops that are sums of products."""
        for loop in self.ops:
            if is_for(loop) and len(loop.results):
                outer = self._path(loop)
                if outer is None or outer[1]:
                    continue
                for position in range(len(loop.results)):
                    products = self._loop_products(loop, position)
                    if products:
                        target = self._target(loop, position)
                        yield Sum(loop, position, tuple(outer[0]), products, target)

    def _target(self, loop: ir.Operation, position: int) -> Write | None:
        """Return the only place that a sum goes to; it begins with a value that is known before the
        nest."""
        uses, initial = list(loop.results[position].uses), loop.operands[3 + position]
        store = uses[0].owner.operation if len(uses) == 1 else None
        if store is None or store.name != Memref.STORE or store.block != loop.block:
            return None
        memory, write = memory_of(store.operands[1]), self._write(store)
        if memory is None or len(self.touched[memory]) > 1 or is_defined_in(initial, self.root):
            return None
        return write

    def _write(self, store: ir.Operation) -> Write | None:
        """A store that each iteration makes to an element of its own."""
        element, path = element_of(store.operands[1], list(store.operands)[2:]), self._path(store)
        if path is None or path[1]:
            return None
        loops = tuple(path[0])
        indices = [For(loop).induction for loop in loops]
        if not self._is_sum_of(element, loops) or not element.is_one_for_each(indices):
            return None
        return Write(store, element, loops)

    def _find_cleared(self) -> Iterator[tuple[ir.Value, Write]]:
        """Memory of which every iteration reads an element and then writes something that does not
        depend on it there; what it reads may be read behind the nest if it is written later
        still."""
        for memory, ops in self.touched.items():
            store = ops[-1]
            loads = [op for op in ops[:-1] if op.name == Memref.LOAD and op.block == store.block]
            if store.name != Memref.STORE or not loads or len(loads) < len(ops) - 1:
                continue
            write, place = self._write(store), list(store.operands)[1:]
            if write is None or is_defined_in(store.operands[0], self.root):
                continue
            if all(list(load.operands) == place for load in loads):
                yield memory, write

    def _loop_products(self, loop: ir.Operation, position: int) -> list[Product]:
        terms = loop_addends(loop, position)
        if not terms or not b.is_float(loop.results[position].type):
            return []
        products = self._all_products(terms)
        has_kept_values = any(
            isinstance(f, KeptValue) for product in products for f in (product.left, product.right)
        )
        return [] if has_kept_values else products

    def _all_products(self, addends: Sequence[Addend]) -> list[Product]:
        """The products that addends are; none where one is anything else."""
        candidates = [self._product(addend) for addend in addends]
        products = [product for product in candidates if product is not None]
        return products if len(products) == len(addends) else []

    def _product(self, addend: Addend) -> Product | None:
        op, path, is_negative = defining_op(addend.value), self._path(addend.at), addend.is_negative
        if op is None or path is None:
            return None
        op, guards = guarded_product(op) or (op, (False, False))
        if op.name != Arith.MULF or is_bound(op):
            return None
        loops, conditions = path
        limits: LimitsOf = {}
        signs = [without_sign(v) for v in op.operands]
        is_negative ^= signs[0][1] != signs[1][1]
        factors = [self._factor(v, limits) for v, _ in signs]
        if None in factors or not all(narrow(limits, factor, self.root) for factor in conditions):
            return None
        left, right = (factor for factor in factors if factor is not None)
        values = dict(zip((value for value, _ in signs), (left, right)))
        witness = self._witness(addend, values)
        if addend.witness is not None and witness is None:
            return None
        loops_around = tuple(loops)
        return Product(loops_around, limits, left, right, is_negative, guards, witness, op.location)

    def _witness(
        self, addend: Addend, factors: Mapping[ir.Value, Factor]
    ) -> tuple[Factor, Factor] | None:
        """The factors of the product of which a NaN makes an addend 0, one of which is a factor of
        the addend: so the addend is not finite, or 0 or a NaN, where it is to be 0."""
        if addend.witness is None or factors.keys().isdisjoint(addend.witness):
            return None
        limits: LimitsOf = {}
        zero, other = (factors.get(v) or self._factor(v, limits) for v in addend.witness)
        return None if zero is None or other is None or limits else (zero, other)

    def _factor(self, value: ir.Value, limits: LimitsOf) -> Factor | None:
        op = defining_op(value)
        if op is None or not is_inside(op, self.root):
            return None
        load = op
        if is_branch(op) and len(op.regions[1].blocks):
            position = ir.OpResult(value).result_number
            then, other = (
                block_operations(block)[-1].operands[position] for block in If(op).blocks
            )
            inner = defining_op(then)
            if inner is not None and is_zero(other) and enclosing(inner) == op:
                trial = copy_limits(limits)
                if self._is_read(inner) and narrow(trial, op.operands[0], self.root):
                    limits.update(trial)
                    load = inner
        if self._is_read(load):
            return element_of(load.operands[0], list(load.operands)[1:])
        path = self._path(op)
        return None if path is None else KeptValue(value, tuple(path[0]))

    def _is_read(self, op: ir.Operation) -> bool:
        """Return whether an op loads an element that the nest does not change, by indices that are
        sums of those of loops."""
        memory = memory_of(op.operands[0]) if op.name == Memref.LOAD else None
        if memory is None or (memory in self.written and memory not in self.cleared):
            return False
        return self._is_sum_of(element_of(op.operands[0], list(op.operands)[1:]))

    def _is_sum_of(self, element: Element, loops: tuple[ir.Operation, ...] = ()) -> bool:
        inner_names = [name for name in element.names if is_defined_in(name, self.root)]
        return not is_defined_in(element.memref, self.root) and all(
            isinstance(name, ir.BlockArgument)
            and name.arg_number == 0
            and (not loops or name.owner.owner.operation in loops)
            for name in inner_names
        )

    def _path(self, op: ir.Operation) -> tuple[list[ir.Operation], list[ir.Value]] | None:
        """The loops of the nest around an op, and the conditions that hold at it; None where they
        are no box."""
        loops: list[ir.Operation] = []
        conditions: list[ir.Value] = []
        while op != self.root:
            owner = enclosing(op)
            if is_for(owner):
                loops.insert(0, owner)
            elif is_branch(owner) and op.block == If(owner).then:
                conditions.append(owner.operands[0])
            else:
                return None
            op = owner
        for loop in loops:
            if constant_integer(loop.operands[2]) != 1 or any(
                loop != self.root and is_defined_in(bound, self.root)
                for bound in list(loop.operands)[:2]
            ):
                return None
        return loops, conditions


def erase_unused(root: ir.Operation) -> None:
    """Erase what a nest computes and does not use."""
    for op in reversed(list(operations(root))):
        if any(has_uses(result) for result in op.results) or op.name in (Memref.STORE, Scf.YIELD):
            continue
        if not any(inner.name == Memref.STORE for inner in operations(op)):
            op.erase()
