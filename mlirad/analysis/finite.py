"""Derivatives that may be infinite or NaN, so that a test, and not a product, must keep an adjoint
of 0 at 0.

A value that no branch takes has the adjoint 0. So has a value that the loss does not use. What it
is made of has the adjoint 0 too, also where the derivative is infinite: `select(x > 0, sqrt(x), 0)`
at x = 0. Numbers in memory count as finite, except in what a branch of the same kernel may drop:
`select(c, y[i] * z, 0)`; and except those of arrays marked `field.infinite`, which some kernel or
the host gave infinities (`mark-poles`). What cannot be 0 by its form may be divided by
(`analysis/intervals.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from math import isfinite

from mlirad.analysis.intervals import Intervals
from mlirad.analysis.rules.table import RULES, primal_reads
from mlirad.analysis.trips import certainly_runs
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_load, is_read
from mlirad.dialect.grad import CustomOp
from mlirad.dialect.snode import INFINITE, places
from mlirad.ir.build import OGE, OGT, OLE, OLT, ONE, predicate_of
from mlirad.ir.elementary.function import Slope
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.elementary.terms import Apply, Choose, Operand, Result, Term, Where
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.ops import Arith, Math
from mlirad.ir.structured import is_branch, is_parallel
from mlirad.ir.walk import Array

_POLES = frozenset(
    {
        Arith.DIVF,
        Arith.REMF,
        CustomOp.OPERATION_NAME,
        *(op for op, function in FUNCTIONS.items() if function.slope is Slope.POLE),
    }
)
_OVERFLOWING = frozenset(
    op for op, function in FUNCTIONS.items() if function.slope is Slope.OVERFLOW
)
_CHOICES = {Arith.SELECT: (1, 2), Arith.MAXIMUMF: (0, 1), Arith.MINIMUMF: (0, 1)}


def has_pole(name: str) -> bool:
    """Return whether the derivative of an op is infinite at some numbers at which, or near which,
    its result is not."""
    return name in _POLES


class Finiteness:
    """Answers for the values and rules of one function."""

    def __init__(self, graph: Graph, infinite: Collection[Array] = ()) -> None:
        self.graph, self.infinite = graph, infinite
        self.intervals = Intervals(graph)

    @cached_property
    def unbounded(self) -> set[int]:
        """The floats that are made of what may be infinite."""
        return self._made_of(self._has_pole)

    @cached_property
    def stored(self) -> set[int]:
        """The floats that are made of what is in memory."""
        return self._made_of(lambda node: is_read(node))

    def _made_of(self, is_seed: Callable[[Node], bool]) -> set[int]:
        """The floats that the results of some nodes pass to."""
        sources: set[int] = set()
        while self._spread(self.graph.body, is_seed, sources) and self.graph.has_cycles:
            pass
        return sources

    def _spread(self, block: BlockNode, is_seed: Callable[[Node], bool], values: set[int]) -> bool:
        before = len(values)
        changed = False
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self._spread(inner, is_seed, values)
            reached = (
                [v for source, targets in node.edges if source in values for v in targets]
                if node.is_passage
                else node.results
                if not values.isdisjoint(node.operands) or is_seed(node)
                else []
            )
            values.update(v for v in reached if self.graph.floats[v])
        return changed or len(values) > before

    @cached_property
    def dropped(self) -> set[int]:
        """The floats whose adjoint a choice may make 0: a `select`, or a block that may not run;
        with what makes them."""
        nodes = list(self.graph.nodes())
        floats = {v for node in nodes for v in self._choices(node) if self.graph.floats[v]}
        size = -1
        while size < len(floats):
            size = len(floats)
            for node in reversed(nodes):
                sources = (
                    [source for source, targets in node.edges if not floats.isdisjoint(targets)]
                    if node.is_passage
                    else node.operands
                    if not floats.isdisjoint(node.results)
                    else []
                )
                floats.update(v for v in sources if self.graph.floats[v])
        return floats

    def _choices(self, node: Node) -> list[int]:
        """The operands that a node may not use, or that a block around it does not define."""
        chosen = [node.operands[k] for k in _CHOICES.get(node.name, ())]
        if is_atomic(node) and atomic_kind(node.op) in (AtomicKind.MIN, AtomicKind.MAX):
            chosen.append(node.operands[0])
        return chosen + [
            v
            for v in node.operands
            if self._is_under_a_condition(node.block, self.graph.block_of(v))
        ]

    def _is_under_a_condition(self, block: BlockNode, outer: BlockNode) -> bool:
        while block is not outer and block.owner is not None:
            if not is_parallel(block.owner) and not certainly_runs(block.owner.op):
                return True
            block = block.owner.block
        return False

    def gives_infinities(self, node: Node) -> bool:
        """Return whether a node is expected to give infinite numbers: not a division that a
        comparison, or a constant added to what it divides by, is there to keep from 0."""
        return self._has_pole(node) and not (
            node.name == Arith.DIVF
            and (
                self._is_kept_from_zero(node, node.operands[1])
                or self._is_softened(node.operands[1])
            )
        )

    def _is_softened(self, value: int) -> bool:
        node = self.graph.defined[value]
        return (
            isinstance(node, Node)
            and node.name == Arith.ADDF
            and any(low == high > 0.0 for low, high in map(self.intervals.range_of, node.operands))
        )

    def _has_pole(self, node: Node) -> bool:
        if is_read(node):
            return node.array in self.infinite
        if node.name == Arith.DIVF:
            return not self.intervals.is_away_from_zero(node.operands[1])
        if node.name in FUNCTIONS:
            return not self.intervals.is_number(FUNCTIONS[node.name], node)
        return node.name in _POLES or _is_infinite_constant(node)

    def _is_kept_from_zero(self, node: Node, value: int) -> bool:
        """Return whether a node runs only under a comparison that a value of 0 fails."""
        block: BlockNode | None = node.block
        while block is not None and block.owner is not None:
            owner = block.owner
            if (
                is_branch(owner)
                and block is owner.blocks[0]
                and self._excludes_zero(owner.operands[0], value)
            ):
                return True
            block = owner.block
        return False

    def _excludes_zero(self, condition: int, value: int) -> bool:
        test = self.graph.defined[condition]
        if isinstance(test, BlockNode):
            return False
        if test.name == Arith.ANDI:
            return any(self._excludes_zero(inner, value) for inner in test.operands)
        if test.name != Arith.CMPF or not any(
            self._is_same(value, operand) for operand in test.operands
        ):
            return False
        left = self._is_same(value, test.operands[0])
        kind = predicate_of(test.op)
        low, high = self.intervals.range_of(test.operands[1 if left else 0])
        above, below = ((OGT, OGE), (OLT, OLE)) if left else ((OLT, OLE), (OGT, OGE))
        return (
            (kind == above[0] and low >= 0.0)
            or (kind == above[1] and low > 0.0)
            or (kind == below[0] and high <= 0.0)
            or (kind == below[1] and high < 0.0)
            or (kind == ONE and low == high == 0.0)
        )

    def _is_same(self, value: int, other: int) -> bool:
        """Return whether two values are one, or loads of one element that nothing around the later
        one writes."""
        loads = self.graph.defined[value], self.graph.defined[other]
        if value == other or any(
            isinstance(load, BlockNode) or not is_load(load) for load in loads
        ):
            return value == other
        first, there = (node for node in loads if isinstance(node, Node))
        return (
            first.array == there.array
            and first.indices == there.indices
            and not any(
                node.array == first.array and not is_load(node) for node in first.block.nodes
            )
        )

    def may_be_infinite(self, node: Node, position: int) -> bool:
        """Return whether the derivative of an op in one operand may be infinite or NaN."""
        term = RULES[node.name][position]
        assert term is not None
        reads, reads_result = primal_reads(node.name, position)
        if any(node.operands[read] in self.unbounded for read in reads):
            return True
        if reads_result and node.results[0] in self.unbounded:
            return True
        if node.results[0] in self.dropped and any(
            node.operands[read] in self.stored for read in reads
        ):
            return True
        return self._divides(node, term)

    def _divides(self, node: Node, term: Term) -> bool:
        if isinstance(term, Where):
            return any(
                self._divides(node, term_part)
                for term_part in (term.left, term.right, term.then, term.otherwise)
            )
        if isinstance(term, Choose):
            return self._divides(node, term.then) or self._divides(node, term.otherwise)
        if not isinstance(term, Apply):
            return False
        if any(self._divides(node, argument) for argument in term.arguments):
            return True
        if term.name == Math.EXP:
            return not _is_minus_a_square(term.arguments[0])
        if term.name != Arith.DIVF:
            return term.name in _POLES or term.name in _OVERFLOWING
        divisor = term.arguments[1]
        if isinstance(divisor, Result):
            return not self.intervals.is_away_from_zero(node.results[0])
        return not (
            isinstance(divisor, Operand)
            and self.intervals.is_away_from_zero(node.operands[divisor.position])
        )


def _is_infinite_constant(node: Node) -> bool:
    if node.name != Arith.CONSTANT or not isinstance(node.op.attributes["value"], ir.FloatAttr):
        return False
    return not isfinite(ir.FloatAttr(node.op.attributes["value"]).value)


def _is_minus_a_square(term: Term) -> bool:
    """Return whether a term is never above 0 by its form, so that its exponential is at most 1."""
    square = term.arguments[0] if isinstance(term, Apply) and term.name == Arith.NEGF else None
    return (
        isinstance(square, Apply)
        and square.name == Arith.MULF
        and square.arguments[0] == square.arguments[1]
    )


def infinite_arrays(module: ir.Operation, graph: Graph) -> set[Array]:
    """The arrays that may hold infinities: fields whose placement says so, and arguments, of whose
    numbers nothing is known."""
    arrays: set[Array] = {
        ir.StringAttr(place.attributes["sym_name"]).value
        for place in places(module)
        if INFINITE in place.attributes
    }
    return arrays.union(graph.values[v] for v in graph.body.arguments if graph.is_array(v))
