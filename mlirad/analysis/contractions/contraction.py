"""Nests of loops that do nothing but add products of two elements to a third one."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from mlirad.analysis.contractions.elements import Element, are_apart, element_of
from mlirad.analysis.contractions.limits import Limits, LimitsOf, copy_limits, narrow
from mlirad.analysis.contractions.places import Places
from mlirad.analysis.trips import spans
from mlirad.analysis.zero_guards import guarded_product, guarded_sum
from mlirad.bindings import ir
from mlirad.ir.box import fold
from mlirad.ir.marks.axis_choices import NO_CHOICE, AxisChoice, choice_of
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.structured import For, If, is_branch, is_for
from mlirad.ir.walk import block_operations, constant_integer, defining_op, is_defined_in

_STEPS = {Arith.ADDF: False, Arith.SUBF: True}


class Index(msgspec.Struct, frozen=True, eq=False):
    """One index of a nest, which goes up in ones."""

    value: ir.Value
    lower: ir.Value
    upper: ir.Value
    extent: int | None
    choice: AxisChoice = NO_CHOICE

    @property
    def expected_trips(self) -> int:
        """Return how many values it has, at least one, or a guess: enough for tiles to pay."""
        return 64 if self.extent is None else max(1, self.extent)


class Term(NamedTuple):
    """A product that is added, or taken away, within some limits of the indices. `guards` says
    which factors make it 0 if they are 0, whatever the other one is. It is 0, too, where the
    product of the `witness` is a NaN and the first of these is 0; one of them is a factor."""

    left: Element
    right: Element
    is_negative: bool
    limits: LimitsOf
    guards: tuple[bool, bool] = (False, False)
    witness: tuple[Element, Element] | None = None

    @property
    def elements(self) -> tuple[Element, ...]:
        """All that is read for it."""
        return (self.left, self.right, *(self.witness or ()))

    @property
    def is_guarded(self) -> bool:
        """Return whether it is 0 at some points at which the product may be anything."""
        return any(self.guards) or self.witness is not None


class Contraction(msgspec.Struct, frozen=True, eq=False):
    """`output += left * right`, or `-=`, for every point of a box; or several such, in turn."""

    loop: ir.Operation
    indices: tuple[Index, ...]
    output: Element
    terms: tuple[Term, ...]

    @property
    def element_type(self) -> ir.Type:
        """The type of the numbers."""
        return ir.MemRefType(self.output.memref.type).element_type

    def with_factors_swapped(self) -> Contraction:
        """A copy with the factors in the other order."""
        terms = tuple(
            term._replace(left=term.right, right=term.left, guards=term.guards[::-1])
            for term in self.terms
        )
        return replace(self, terms=terms)

    @property
    def is_guarded(self) -> bool:
        """Return whether a term is 0 at some points at which its product may be anything."""
        return any(term.is_guarded for term in self.terms)

    def moving(self, *, output: bool, left: bool, right: bool) -> list[Index]:
        """The indices that some of the elements depend on, and the others do not, in all terms."""
        is_moving = (output, left, right)
        return [
            index
            for index in self.indices
            if all(
                tuple(x.moves_with(index.value) for x in (self.output, term.left, term.right))
                == is_moving
                for term in self.terms
            )
        ]

    def alone(self, term: Term) -> Contraction:
        """The contraction of one term, within its limits, which are made at the insertion
        point."""
        places = Places([])
        indices = []
        for index in self.indices:
            low, high = index.lower, index.upper
            limits = term.limits.get(index.value, Limits())
            for form in limits.lower:
                low = fold(Arith.MAXSI, low, places.sum(form, {}, {}))
            for form in limits.upper:
                high = fold(Arith.MINSI, high, places.sum(form, {}, {}))
            first, last = constant_integer(low), constant_integer(high)
            count = None if first is None or last is None else max(0, last - first)
            indices.append(Index(index.value, low, high, count, index.choice))
        return replace(self, indices=tuple(indices), terms=(term._replace(limits={}),))


def contraction(loop: ir.Operation) -> Contraction | None:
    """Return a loop as a contraction; None if it is not one, or not certainly."""
    indices: list[Index] = []
    op = loop
    while True:
        if len(op.results) or constant_integer(op.operands[2]) != 1:
            return None
        low, high = op.operands[0], op.operands[1]
        if is_defined_in(low, loop) or is_defined_in(high, loop):
            return None
        indices.append(Index(For(op).induction, low, high, spans(op)[0].trips, choice_of(op)))
        work = _work(For(op).body)
        if len(work) != 1 or not is_for(work[0]):
            break
        op = work[0]
    updates = _updates(work, {}, loop)
    if not updates or any(output != updates[0][0] for output, _ in updates):
        return None
    terms = tuple(term for _, term in updates)
    result = Contraction(loop, tuple(indices), updates[0][0], terms)
    return result if _is_sound(result) else None


def _work(block: ir.Block) -> list[ir.Operation]:
    return [op for op in block_operations(block)[:-1] if not _is_index(op)]


def _is_index(op: ir.Operation) -> bool:
    """Return whether an op computes nothing but an integer, or is a constant."""
    return op.name == Arith.CONSTANT or (
        op.name.startswith("arith.")
        and len(op.results) == 1
        and isinstance(op.results[0].type, ir.IndexType | ir.IntegerType)
    )


def _updates(
    work: list[ir.Operation], limits: LimitsOf, nest: ir.Operation
) -> list[tuple[Element, Term]]:
    """The elements that a body adds products to, and what it adds; none where it does anything
    else."""
    pairs: list[tuple[Element, Term]] = []
    accounted: set[ir.Operation] = set()
    for op in work:
        if is_branch(op):
            inner = copy_limits(limits)
            empty = len(op.regions[1].blocks) == 0 and len(op.results) == 0
            if not empty or not narrow(inner, op.operands[0], nest):
                return []
            updates = _updates(_work(If(op).then), inner, nest)
            if not updates:
                return []
            pairs += updates
            accounted.add(op)
        elif op.name == Memref.STORE:
            update = _update(op, limits)
            if update is None:
                return []
            pairs.append(update[0])
            accounted |= update[1]
    return pairs if accounted == set(work) else []


def _update(
    store: ir.Operation, limits: LimitsOf
) -> tuple[tuple[Element, Term], set[ir.Operation]] | None:
    """An update by a product, and the ops that it is made of."""
    step = defining_op(store.operands[0])
    if step is None or step.name not in _STEPS or is_bound(step):
        return None
    is_negative, ops = _STEPS[step.name], _slice(step)
    output = element_of(store.operands[1], list(store.operands)[2:])
    for addend, other in [(0, 1)] if is_negative else [(0, 1), (1, 0)]:
        term = _term(step.operands[other])
        if ops is None or term is None or _read(step.operands[addend]) != output:
            continue
        term = term._replace(is_negative=is_negative, limits=copy_limits(limits))
        return (output, term), {store, *ops}
    return None


def _term(value: ir.Value) -> Term | None:
    """The product of elements that a value is, with its guards."""
    op, witness = defining_op(value), None
    guarded = None if op is None else guarded_sum(op)
    if guarded is not None:
        op = defining_op(guarded.value)
        witness = _pair(*guarded.witness)
    if op is None or (guarded is not None and witness is None):
        return None
    product, guards = guarded_product(op) or (op, (False, False))
    if product.name != Arith.MULF or is_bound(product):
        return None
    factors = _pair(*product.operands)
    if factors is None or (witness is not None and set(factors).isdisjoint(witness)):
        return None
    return Term(*factors, False, {}, guards, witness)


def _pair(left: ir.Value, right: ir.Value) -> tuple[Element, Element] | None:
    elements = _read(left), _read(right)
    return None if elements[0] is None or elements[1] is None else (elements[0], elements[1])


def _read(value: ir.Value) -> Element | None:
    """The element that a value is read from."""
    op = defining_op(value)
    if op is None or op.name != Memref.LOAD:
        return None
    return element_of(op.operands[0], list(op.operands)[1:])


def _slice(step: ir.Operation) -> set[ir.Operation] | None:
    """The ops that a sum is made of, without integers; None where some are outside of its block."""
    pending, ops = [step], set[ir.Operation]()
    while pending:
        op = pending.pop()
        if op in ops or op.name == Arith.CONSTANT:
            continue
        if op.block != step.block:
            return None
        ops.add(op)
        if op.name != Memref.LOAD:
            makers = map(defining_op, op.operands)
            pending += [maker for maker in makers if maker is not None]
    return {op for op in ops if not _is_index(op)}


def _is_sound(nest: Contraction) -> bool:
    """Return whether the factors are certainly not what is written, and elements are known by sums
    of the indices and of what the nest does not change."""
    indices = {index.value for index in nest.indices}
    factors = [factor for term in nest.terms for factor in term.elements]
    elements = (nest.output, *factors)
    names = {name for element in elements for name in element.names}
    types = {str(ir.MemRefType(element.memref.type).element_type) for element in elements}
    return (
        len(types) == 1
        and types <= {"f32", "f64"}
        and all(are_apart(nest.output.memref, factor.memref) for factor in factors)
        and not any(is_defined_in(name, nest.loop) for name in names - indices)
        and not any(is_defined_in(element.memref, nest.loop) for element in elements)
        and all(index in indices for term in nest.terms for index in term.limits)
    )
