"""Two iterations of a parallel loop that touch one element, found by trying some: for indices that
distances do not decide.

`x[i + j]`, `x[2 * i]`, `x[i // 2]` and `x[(i + 1) % n]` are computed for iterations at both ends of
the loop. What is found is certain: conditions and inner loops around an access are computed too,
and where something is not known, nothing is found.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

from mlirad.bindings import ir
from mlirad.ir.graph import Graph, Node
from mlirad.ir.walk import constant_integer, is_inside, owner_operation

POINTS = 300  # iterations tried for an access
Number = tuple[
    frozenset[tuple[ir.Value, int]], int
]  # multiples of values from outside of the loop, and the rest
Iteration = tuple[int, ...]
Elements = dict[tuple[Number, ...], set[Iteration]]
Step = tuple[Node, int]  # a loop with one of its axes, or a branch with one of its sides


class Unknown(Exception):
    """A value that cannot be computed while compiling."""


class Witness:
    """Answers for the parallel loops of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._touched: dict[Node, Elements] = {}

    def find(self, node: Node, write: Node, loop: Node) -> tuple[Iteration, Iteration] | None:
        """Iterations, not the same, of which one runs `node` and the other `write` on one element;
        None if none is found."""
        mine, other = self._elements(node, loop), self._elements(write, loop)
        for element, iterations in mine.items():
            for second in sorted(other.get(element, ())):
                first = next(
                    (iteration for iteration in sorted(iterations) if iteration != second), None
                )
                if first is not None:
                    return first, second
        return None

    def _elements(self, node: Node, loop: Node) -> Elements:
        """The elements that an access touches, with the iterations that do; none where something is
        not known."""
        if node not in self._touched:
            try:
                self._touched[node] = self._tried(node, loop)
            except Unknown:
                self._touched[node] = {}
        return self._touched[node]

    def _tried(self, node: Node, loop: Node) -> Elements:
        found: Elements = {}
        steps = list(_steps(node, loop))
        each = max(
            2, int(POINTS ** (1 / max(1, sum(owner.name != "scf.if" for owner, _ in steps))))
        )
        for point in self._points(steps, _Point(self.graph, loop), each):
            element = tuple(point.number(self.graph.values[index]) for index in node.indices)
            iteration = tuple(point.known[self.graph.values[v]][1] for v in loop.induction)
            found.setdefault(element, set()).add(iteration)
        return found

    def _points(self, steps: Sequence[Step], point: _Point, each: int) -> Iterator[_Point]:
        """Some of the points that steps lead to."""
        if not steps:
            yield point
            return
        (owner, number), *rest = steps
        if owner.name == "scf.if":
            if point.integer(self.graph.values[owner.operands[0]]) == number:
                yield from self._points(rest, point, each)
            return
        index = self.graph.values[owner.induction[number]]
        low, high, step = (
            self.graph.values[v]
            for v in owner.operands[number : 3 * len(owner.induction) : len(owner.induction)]
        )
        for value in _ends(self._range(point, low, high, step, each), each):
            yield from self._points(rest, point.where(index, value), each)

    def _range(
        self, point: _Point, low: ir.Value, high: ir.Value, step: ir.Value, each: int
    ) -> range:
        """The values of an index; of a length that is not known while compiling, enough."""
        first, stride = point.integer(low), point.integer(step)
        terms, last = point.number(high)
        return range(first, first + each * stride if terms else last, stride)


class _Point:
    """Values at one point of a nest of loops."""

    def __init__(
        self, graph: Graph, loop: Node, known: dict[ir.Value, Number] | None = None
    ) -> None:
        self.graph, self.loop, self.known = graph, loop, known or {}

    def where(self, value: ir.Value, number: int) -> _Point:
        """The same with one more value known."""
        indices = {
            key: kept for key, kept in self.known.items() if isinstance(key, ir.BlockArgument)
        }
        return _Point(self.graph, self.loop, {**indices, value: (frozenset(), number)})

    def integer(self, value: ir.Value) -> int:
        """A value that is a number. Raises Unknown."""
        terms, rest = self.number(value)
        if terms:
            raise Unknown
        return rest

    def number(self, value: ir.Value) -> Number:
        """A value. Raises Unknown where it comes from memory, or is passed around a loop."""
        if value not in self.known:
            self.known[value] = self._computed(value)
        return self.known[value]

    def _computed(self, value: ir.Value) -> Number:
        if not is_inside(owner_operation(value), self.loop.op):
            constant = constant_integer(value)
            return (frozenset({(value, 1)}), 0) if constant is None else (frozenset(), constant)
        if isinstance(value, ir.BlockArgument):
            raise Unknown
        op = value.owner.operation
        constant = constant_integer(value)
        if constant is not None:
            return frozenset(), constant
        if op.name in _CASTS:
            return self.number(op.operands[0])
        if op.name == "arith.trunci":
            return frozenset(), _fitting(
                self.integer(op.operands[0]), ir.IntegerType(value.type).width
            )
        if op.name in ("arith.addi", "arith.subi"):
            (a, b), (c, d) = map(self.number, op.operands)
            sign = 1 if op.name == "arith.addi" else -1
            return _plus(a, c, sign), b + sign * d
        if op.name == "arith.select":
            return self.number(op.operands[1 if self.integer(op.operands[0]) else 2])
        if op.name == "arith.cmpi":
            left, right = map(self.integer, op.operands)
            predicate = ir.IntegerAttr(op.attributes["predicate"]).value
            if predicate >= len(_COMPARE):  # of unsigned numbers
                raise Unknown
            return frozenset(), int(_COMPARE[predicate](left, right))
        rule = _RULES.get(op.name)
        if rule is None:
            raise Unknown
        left, right = map(self.integer, op.operands)
        return frozenset(), rule(left, right)


def _fitting(number: int, width: int) -> int:
    if not -(1 << (width - 1)) <= number < 1 << (width - 1):
        raise Unknown
    return number


def _plus(
    left: frozenset[tuple[ir.Value, int]], right: frozenset[tuple[ir.Value, int]], sign: int
) -> frozenset[tuple[ir.Value, int]]:
    if not right:
        return left
    factors = dict(left)
    for leaf, factor in right:
        factors[leaf] = factors.get(leaf, 0) + sign * factor
    return frozenset((leaf, factor) for leaf, factor in factors.items() if factor)


def _ends(values: range, count: int) -> list[int]:
    """Some of the first and some of the last."""
    if len(values) <= count:
        return list(values)
    return [*values[: count - count // 2], *values[len(values) - count // 2 :]]


def _steps(node: Node, loop: Node) -> Iterator[Step]:
    """What leads to a node: the indices of loops, from `loop` inwards, and the sides of branches (1
    for `then`)."""
    owners = [loop, *node.owners_within(loop)]
    for owner, inner in zip(owners, [*owners[1:], node]):
        if owner.name == "scf.if":
            yield owner, int(inner.block is owner.blocks[0])
        elif owner.induction:
            yield from ((owner, axis) for axis in range(len(owner.induction)))
        else:
            raise Unknown


def _quotient(left: int, right: int) -> int:
    """Rounded towards 0. Raises Unknown for a division by 0."""
    if right == 0:
        raise Unknown
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _floor(left: int, right: int) -> int:
    if right == 0:
        raise Unknown
    return left // right


_CASTS = frozenset({"arith.index_cast", "arith.extsi"})
_COMPARE: list[Callable[[int, int], bool]] = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
_RULES: dict[str, Callable[[int, int], int]] = {
    "arith.muli": operator.mul,
    "arith.divsi": _quotient,
    "arith.floordivsi": _floor,
    "arith.remsi": lambda a, b: a - b * _quotient(a, b),
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
}
