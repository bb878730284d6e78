"""Facts that hold where an access runs, and whether those of two accesses in different iterations
exclude each other.

The conditions around an access become alternatives of facts on integers (`facts.py`). One
access is looked at in iteration i, the other in iteration i + d of the same parallel loop, so equal
names are equal numbers, and facts that contradict one another show that no two iterations meet: `if
i % 2 == 0: x[i] = x[i + 1]`. What is not understood is taken to be possible.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product

from mlirad.analysis.linear import LinearForms, number, unknown
from mlirad.analysis.races.facts import Fact, OfSide, OperationResult, Quotient, Sum, contradict
from mlirad.bindings import ir
from mlirad.dialect.field import is_load, is_write
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.graph import Graph, Node
from mlirad.ir.ops import Arith
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import is_branch, is_for
from mlirad.ir.walk import array_root, attributes_of, constant_integer, is_defined_in

LIMIT = 64  # alternatives of one access that are looked at
_NEGATED = {b.EQ: b.NE, b.NE: b.EQ, b.SLT: b.SGE, b.SLE: b.SGT, b.SGT: b.SLE, b.SGE: b.SLT}

Alternatives = list[list[Fact]]  # one of them holds


class Guards:
    """Answers for the accesses of one function."""

    def __init__(self, graph: Graph, forms: LinearForms) -> None:
        self.graph, self.forms = graph, forms
        self.written = {node.array for node in graph.nodes() if is_write(node)}
        self._sides: dict[Hashable, _Side] = {}

    def exclude(self, left: Node, right: Node, loop: Node, distances: dict[ir.Value, int]) -> bool:
        """Return whether `left` in one iteration of `loop` and `right` in another, `distances`
        further, never both run on one element.

        Indices of loops without a distance may be anything in either.
        """
        first, second = (self._side(loop, distances, number) for number in range(2))
        sides = [first.alternatives(left), second.alternatives(right)]
        sides[0] = _conjunction(
            sides[0],
            [
                [
                    Fact.equal(first.index(index).plus(second.index(other), -1))
                    for index, other in zip(left.indices, right.indices)
                ]
            ],
        )
        ivs = [self.graph.values[number] for number in loop.blocks[0].arguments]
        free = [iv for iv in ivs if iv not in distances]
        moved = any(distances.get(iv) for iv in ivs)
        for facts, other_facts in product(*sides):
            if moved and not contradict([*facts, *other_facts]):
                return False
            if not moved and any(
                not contradict(
                    [
                        *facts,
                        *other_facts,
                        Fact.different(first.own_value(iv).plus(second.own_value(iv), -1)),
                    ]
                )
                for iv in free
            ):
                return False
        return True

    def _side(self, loop: Node, distances: dict[ir.Value, int], number: int) -> _Side:
        """One of two accesses; all pairs of a loop at the same distances share them."""
        key = id(loop), tuple(distances.items()), number
        if key not in self._sides:
            self._sides[key] = _Side(self, loop, dict(distances), number)
        return self._sides[key]


class _Side:
    """One of the two accesses: number 1 runs in the later iteration."""

    def __init__(
        self, guards: Guards, loop: Node, distances: dict[ir.Value, int], number: int
    ) -> None:
        self.guards, self.loop, self.distances, self.number = guards, loop, distances, number
        self._sums: dict[tuple[ir.Value, int], Sum] = {}  # by how deep they are looked into

    def alternatives(self, node: Node) -> Alternatives:
        """Return the facts that hold where a node runs."""
        conditions: Alternatives = [self._bounds(self.loop)]
        block = node.block
        while block.owner is not None and block.owner is not self.loop:
            owner = block.owner
            if is_branch(owner):
                conditions = _conjunction(
                    conditions, self._holds(owner.op.operands[0], block is owner.blocks[0])
                )
            elif is_for(owner):
                conditions = _conjunction(conditions, [self._bounds(owner)])
            block = owner.block
        return conditions

    def _bounds(self, loop: Node) -> list[Fact]:
        """The indices of a loop lie between its bounds."""
        graph = self.guards.graph
        facts = []
        for argument, bounds in zip(loop.induction, bounds_of(loop.op)):
            index = self._sum(graph.values[argument])
            low, high = self._sum(bounds.lower), self._sum(bounds.upper)
            facts += [
                Fact.not_below(index.plus(low, -1)),
                Fact.not_below(high.plus(index, -1).plus(number(-1))),
            ]
        return facts

    # Conditions.

    def _holds(self, value: ir.Value, truth: bool, depth: int = 16) -> Alternatives:
        """Return the facts that hold if a condition does, or (`truth=False`) does not."""
        constant = _constant_truth(value)
        if constant is not None:
            return [[]] if constant == truth else []
        op = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        if op is None or depth == 0:
            return self._opaque(value, truth)
        is_bit = value.type == b.integer_type(1)
        if is_bit and op.name in (Arith.ANDI, Arith.ORI):
            operand_conditions = [self._holds(operand, truth, depth - 1) for operand in op.operands]
            return (
                _conjunction(*operand_conditions)
                if (op.name == Arith.ANDI) == truth
                else _either(*operand_conditions)
            )
        if (
            is_bit
            and op.name == Arith.XORI
            and (flips := _constant_truth(op.operands[1])) is not None
        ):
            return self._holds(op.operands[0], truth != flips, depth - 1)
        if op.name in (Arith.EXTUI, Arith.EXTSI):
            return self._holds(op.operands[0], truth, depth - 1)
        if op.name == Arith.CMPI:
            return self._comparison(op, truth, depth)
        if is_branch(op):
            return self._branch_condition(op, value, truth, depth)
        return self._opaque(value, truth)

    def _opaque(self, value: ir.Value, truth: bool) -> Alternatives:
        total = self._sum(value)
        return [[Fact.different(total) if truth else Fact.equal(total)]]

    def _comparison(self, op: ir.Operation, truth: bool, depth: int) -> Alternatives:
        kind = b.predicate_of(op)
        if kind not in _NEGATED:
            return self._opaque(op.results[0], truth)
        kind = kind if truth else _NEGATED[kind]
        left, right = op.operands
        if kind in (b.EQ, b.NE) and constant_integer(right) == 0 and _is_truth(left):
            return self._holds(left, kind == b.NE, depth - 1)
        if kind in (b.SLT, b.SLE):
            left, right, kind = right, left, b.SGT if kind == b.SLT else b.SGE
        gap = self._sum(left).plus(self._sum(right), -1)
        if kind in (b.EQ, b.NE):
            return [[Fact.equal(gap) if kind == b.EQ else Fact.different(gap)]]
        return [[Fact.not_below(gap if kind == b.SGE else gap.plus(number(-1)))]]

    def _branch_condition(
        self, op: ir.Operation, value: ir.Value, truth: bool, depth: int
    ) -> Alternatives:
        """A condition that a branch gives: `and` and `or` that stop early."""
        position = ir.OpResult(value).result_number
        ways = []
        for side, region in enumerate(op.regions):
            yielded = list(region.blocks[0].operations)[-1].operation.operands[position]
            ways.append(
                _conjunction(
                    self._holds(op.operands[0], side == 0, depth - 1),
                    self._holds(yielded, truth, depth - 1),
                )
            )
        return _either(*ways)

    # Numbers.

    def own_value(self, value: ir.Value) -> Sum:
        """A value of which nothing is known but that it is this side's."""
        return unknown(OfSide(value, self.number))

    def index(self, number: int) -> Sum:
        """An index of an access."""
        return self._sum(self.guards.graph.values[number])

    def _sum(self, value: ir.Value, depth: int = 8) -> Sum:
        """An integer as a sum of what both accesses name alike."""
        total = self._sums.get((value, depth))
        if total is None:
            form = self.guards.forms.form_of(value)
            total = form.substitute({leaf: self._leaf(leaf, depth) for leaf in form.names})
            self._sums[value, depth] = total
        return total

    def _leaf(self, leaf: ir.Value, depth: int) -> Sum:
        if leaf in self.distances:
            return Sum(frozenset({(leaf, 1)}), self.distances[leaf] * self.number)
        if not is_defined_in(leaf, self.loop.op):
            return unknown(leaf)
        if isinstance(leaf, ir.BlockArgument) or depth == 0:
            return self.own_value(leaf)
        op = leaf.owner.operation
        if is_load(op):
            array = array_root(op.operands[0])
            if array in self.guards.written:
                return self.own_value(leaf)
            return self._operation_sum(op, array, list(op.operands)[1:], depth)
        if op.name in (Arith.FLOORDIVSI, Arith.REMUI, Arith.ANDI):
            divisor = _divisor(op)
            if divisor is not None:
                return self._quotient_sum(op, divisor, depth)
        if is_arithmetic(op):
            details = tuple(
                sorted((name, str(attribute)) for name, attribute in attributes_of(op).items())
            )
            return self._operation_sum(op, details, list(op.operands), depth)
        return self.own_value(leaf)

    def _operation_sum(
        self, op: ir.Operation, details: Hashable, operands: list[ir.Value], depth: int
    ) -> Sum:
        """Return the result of an operation on values that both accesses name alike."""
        sums = tuple([self._sum(operand, depth - 1) for operand in operands])
        return unknown(OperationResult(op.name, details, sums))

    def _quotient_sum(self, op: ir.Operation, divisor: int, depth: int) -> Sum:
        """A quotient rounded down, or what remains of it."""
        dividend = self._sum(op.operands[0], depth - 1)
        quotient: Sum = unknown(Quotient(dividend, divisor))
        return quotient if op.name == Arith.FLOORDIVSI else dividend.plus(quotient, -divisor)


def _constant_truth(value: ir.Value) -> bool | None:
    """Return whether a condition is known to hold, or not to; None where neither is."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != Arith.CONSTANT:
        return None
    attribute = value.owner.operation.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return bool(attribute.value)
    return attribute.value != 0 if isinstance(attribute, ir.IntegerAttr) else None


def _divisor(op: ir.Operation) -> int | None:
    value = constant_integer(op.operands[1])
    if value is None or value < 0:
        return None
    if op.name == Arith.ANDI:
        return value + 1 if value & (value + 1) == 0 else None
    return value or None


def _is_truth(value: ir.Value) -> bool:
    """Return whether a number is a condition's."""
    if isinstance(value, ir.BlockArgument):
        return False
    op = value.owner.operation
    return is_branch(op) or (
        op.name in (Arith.EXTUI, Arith.EXTSI) and op.operands[0].type == b.integer_type(1)
    )


def _conjunction(left: Alternatives, right: Alternatives) -> Alternatives:
    if len(left) * len(right) > LIMIT:
        return left
    return [[*a, *c] for a, c in product(left, right)]


def _either(left: Alternatives, right: Alternatives) -> Alternatives:
    return [*left, *right] if len(left) + len(right) <= LIMIT else [[]]
