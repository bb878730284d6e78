"""Two iterations of a parallel loop that touch one element, found by trying some: for indices that distances do not decide.

`x[i + j]`, `x[2 * i]`, `x[i // 2]` and `x[(i + 1) % n]` are computed for iterations at both ends of the loop. What is found is
certain: conditions and inner loops around an access are computed too, and where something is not known, nothing is found.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from mlirad.bindings import ir
from mlirad.passes._graph import Graph, Node
from mlirad.passes._walk import is_inside, owner_operation

POINTS = 300  # iterations tried for an access
Number = tuple[frozenset[tuple[ir.Value, int]], int]  # multiples of values from outside of the loop, and the rest
Iteration = tuple[int, ...]


class Unknown(Exception):
    """A value that cannot be computed while compiling."""


class Witness:
    """Answers for the parallel loops of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._touched: dict[int, dict[tuple[Number, ...], set[Iteration]]] = {}

    def find(self, node: Node, write: Node, loop: Node) -> tuple[Iteration, Iteration] | None:
        """Iterations, not the same, of which one runs `node` and the other `write` on one element; None if none is found."""
        try:
            mine, other = self._elements(node, loop), self._elements(write, loop)
        except Unknown:
            return None
        for element, iterations in mine.items():
            for second in sorted(other.get(element, ())):
                first = next((iteration for iteration in sorted(iterations) if iteration != second), None)
                if first is not None:
                    return first, second
        return None

    def _elements(self, node: Node, loop: Node) -> dict[tuple[Number, ...], set[Iteration]]:
        """The elements that an access touches, with the iterations that do."""
        if id(node) not in self._touched:
            found: dict[tuple[Number, ...], set[Iteration]] = {}
            owners = _owners(node, loop)
            levels = sum(len(_induction(owner)) for owner in owners)
            each = max(2, int(POINTS ** (1 / max(levels, 1))))
            for point in self._points(owners, 0, _Point(self.graph, loop), each, node):
                element = tuple(point.number(self.graph.values[index]) for index in node.indices)
                iteration = tuple(point.known[self.graph.values[v]][1] for v in _induction(loop))
                found.setdefault(element, set()).add(iteration)
            self._touched[id(node)] = found
        return self._touched[id(node)]

    def _points(self, owners: list[Node], depth: int, point: _Point, each: int, node: Node) -> Iterator[_Point]:
        """Some of the points at which a node runs, from the ops around it, outermost first."""
        if depth == len(owners):
            yield point
            return
        owner = owners[depth]
        if owner.name == "scf.if":
            condition = point.integer(self.graph.values[owner.operands[0]]) != 0
            inner = owners[depth + 1].block if depth + 1 < len(owners) else node.block
            if condition == (inner is owner.blocks[0]):
                yield from self._points(owners, depth + 1, point, each, node)
            return
        if owner.name not in ("scf.parallel", "scf.for"):
            raise Unknown
        rank = len(_induction(owner))
        yield from self._along(owner, 0, rank, owners, depth, point, each, node)

    def _along(self, owner: Node, axis: int, rank: int, owners: list[Node], depth: int, point: _Point, each: int,
               node: Node) -> Iterator[_Point]:
        if axis == rank:
            yield from self._points(owners, depth + 1, point, each, node)
            return
        low, high, step = (self.graph.values[owner.operands[k * rank + axis]] for k in range(3))
        for value in _ends(self._range(point, low, high, step, each), each):
            yield from self._along(owner, axis + 1, rank, owners, depth,
                                   point.where(self.graph.values[_induction(owner)[axis]], value), each, node)


    def _range(self, point: _Point, low: ir.Value, high: ir.Value, step: ir.Value, each: int) -> range:
        """The values of an index; of a length that is not known while compiling, enough."""
        first, stride = point.integer(low), point.integer(step)
        terms, last = point.number(high)
        return range(first, first + each * stride if terms else last, stride)


class _Point:
    """Values at one point of a nest of loops."""

    def __init__(self, graph: Graph, loop: Node, known: dict[ir.Value, Number] | None = None) -> None:
        self.graph, self.loop, self.known = graph, loop, known or {}

    def where(self, value: ir.Value, number: int) -> _Point:
        """The same with one more value known."""
        indices = {key: kept for key, kept in self.known.items() if isinstance(key, ir.BlockArgument)}
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
            constant = _constant(value)
            return (frozenset({(value, 1)}), 0) if constant is None else (frozenset(), constant)
        if isinstance(value, ir.BlockArgument):
            raise Unknown
        op = value.owner.operation
        constant = _constant(value)
        if constant is not None:
            return frozenset(), constant
        if op.name in _CASTS:
            return self.number(op.operands[0])
        if op.name == "arith.trunci":
            return frozenset(), _fitting(self.integer(op.operands[0]), ir.IntegerType(value.type).width)
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


def _constant(value: ir.Value) -> int | None:
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    return abs(attribute.value) if str(value.type) == "i1" else int(attribute.value)


def _fitting(number: int, width: int) -> int:
    if not -(1 << (width - 1)) <= number < 1 << (width - 1):
        raise Unknown
    return number


def _plus(left: frozenset[tuple[ir.Value, int]], right: frozenset[tuple[ir.Value, int]],
          sign: int) -> frozenset[tuple[ir.Value, int]]:
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
    return [*values[:count - count // 2], *values[len(values) - count // 2:]]


def _owners(node: Node, loop: Node) -> list[Node]:
    found = [loop]
    owner = node.block.owner
    while owner is not None and owner is not loop:
        found.insert(1, owner)
        owner = owner.block.owner
    return found


def _induction(loop: Node) -> list[int]:
    if loop.name == "scf.parallel":
        return loop.blocks[0].arguments
    return loop.blocks[0].arguments[:1] if loop.name == "scf.for" else []


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
_COMPARE: list[Callable[[int, int], bool]] = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
_RULES: dict[str, Callable[[int, int], int]] = {
    "arith.muli": operator.mul, "arith.divsi": _quotient, "arith.floordivsi": _floor,
    "arith.remsi": lambda a, b: a - b * _quotient(a, b), "arith.minsi": min, "arith.maxsi": max,
    "arith.andi": operator.and_, "arith.ori": operator.or_, "arith.xori": operator.xor,
}
