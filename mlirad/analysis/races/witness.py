"""Two iterations of a parallel loop that touch one element, found by trying some: for indices that
distances do not decide.

`x[i + j]`, `x[2 * i]`, `x[i // 2]` and `x[(i + 1) % n]` are computed for iterations at both ends of
the loop. What is found is certain: conditions and inner loops around an access are computed too,
and where something is not known, nothing is found.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

from mlirad.analysis.linear import Linear, number, unknown
from mlirad.bindings import ir
from mlirad.ir.box import Bounds, bounds_of
from mlirad.ir.build import predicate_of
from mlirad.ir.graph import Graph, Node
from mlirad.ir.ops import Arith
from mlirad.ir.structured import is_branch
from mlirad.ir.walk import constant_integer, is_inside, owner_operation

POINTS = 300  # iterations tried for an access
Number = Linear[ir.Value]  # of values from outside of the loop
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
        elements, other = self._elements(node, loop), self._elements(write, loop)
        for element, iterations in elements.items():
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
                self._touched[node] = self._try_points(node, loop)
            except Unknown:
                self._touched[node] = {}
        return self._touched[node]

    def _try_points(self, node: Node, loop: Node) -> Elements:
        elements: Elements = {}
        steps = list(_steps(node, loop))
        most = max(2, int(POINTS ** (1 / max(1, sum(not is_branch(owner) for owner, _ in steps)))))
        for point in self._points(steps, _Point(loop, {}, {}), most):
            element = tuple(point.number(self.graph.values[index]) for index in node.indices)
            iteration = tuple(point.indices[self.graph.values[v]].constant for v in loop.induction)
            elements.setdefault(element, set()).add(iteration)
        return elements

    def _points(self, steps: Sequence[Step], point: _Point, most: int) -> Iterator[_Point]:
        """Some of the points that steps lead to."""
        if not steps:
            yield point
            return
        (owner, number), *inner_steps = steps
        if is_branch(owner):
            if point.integer(self.graph.values[owner.operands[0]]) == number:
                yield from self._points(inner_steps, point, most)
            return
        index = self.graph.values[owner.induction[number]]
        for value in _ends(_range(point, bounds_of(owner.op)[number], most), most):
            yield from self._points(inner_steps, point.where(index, value), most)


class _Point:
    """Values at one point of a nest of loops: `indices` are given, `fixed` are those of every point
    of the outermost one."""

    def __init__(
        self, loop: Node, indices: dict[ir.Value, Number], fixed: dict[ir.Value, Number]
    ) -> None:
        self.loop, self.indices, self.fixed = loop, indices, fixed
        self._computed = dict(indices)

    def where(self, value: ir.Value, index: int) -> _Point:
        """A copy with one more index."""
        return _Point(self.loop, {**self.indices, value: number(index)}, self.fixed)

    def integer(self, value: ir.Value) -> int:
        """A value that is a number. Raises Unknown."""
        form = self.number(value)
        if form.terms:
            raise Unknown
        return form.constant

    def number(self, value: ir.Value) -> Number:
        """A value. Raises Unknown where it comes from memory, or is passed around a loop."""
        form = self.fixed.get(value) or self._computed.get(value) or self._from_outside(value)
        if form is None:
            form = self._computed[value] = self._inside(value)
        return form

    def _from_outside(self, value: ir.Value) -> Number | None:
        """A value that the loop does not change; None for others."""
        constant = constant_integer(value)
        if constant is not None:
            self.fixed[value] = number(constant)
        elif not is_inside(owner_operation(value), self.loop.op):
            self.fixed[value] = unknown(value)
        return self.fixed.get(value)

    def _inside(self, value: ir.Value) -> Number:
        if isinstance(value, ir.BlockArgument):
            raise Unknown
        op = value.owner.operation
        if op.name in _CASTS:
            return self.number(op.operands[0])
        if op.name == Arith.TRUNCI:
            width = ir.IntegerType(value.type).width
            return number(_fitting(self.integer(op.operands[0]), width))
        if op.name in (Arith.ADDI, Arith.SUBI):
            first, second = map(self.number, op.operands)
            return first.plus(second, 1 if op.name == Arith.ADDI else -1)
        if op.name == Arith.SELECT:
            return self.number(op.operands[1 if self.integer(op.operands[0]) else 2])
        if op.name == Arith.CMPI:
            left, right = map(self.integer, op.operands)
            predicate = predicate_of(op)
            if predicate >= len(_COMPARE):  # of unsigned numbers
                raise Unknown
            return number(int(_COMPARE[predicate](left, right)))
        rule = _RULES.get(op.name)
        if rule is None:
            raise Unknown
        left, right = map(self.integer, op.operands)
        return number(rule(left, right))


def _range(point: _Point, bounds: Bounds, most: int) -> range:
    """The values of an index; of a length that is not known while compiling, enough."""
    first, stride = point.integer(bounds.lower), point.integer(bounds.step)
    last = point.number(bounds.upper)
    return range(first, first + most * stride if last.terms else last.constant, stride)


def _fitting(result: int, width: int) -> int:
    if not -(1 << (width - 1)) <= result < 1 << (width - 1):
        raise Unknown
    return result


def _ends(values: range, count: int) -> list[int]:
    """Some of the first and some of the last."""
    if len(values) <= count:
        return list(values)
    return [*values[: count - count // 2], *values[len(values) - count // 2 :]]


def _steps(node: Node, loop: Node) -> Iterator[Step]:
    """Yield the steps that lead to a node: the indices of loops, from `loop` inwards, and the sides
    of branches (1 for `then`)."""
    owners = [loop, *node.owners_within(loop)]
    for owner, inner in zip(owners, [*owners[1:], node]):
        if is_branch(owner):
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


_CASTS = frozenset({Arith.INDEX_CAST, Arith.EXTSI})
_COMPARE: list[Callable[[int, int], bool]] = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
_RULES: dict[str, Callable[[int, int], int]] = {
    Arith.MULI: operator.mul,
    Arith.DIVSI: _quotient,
    Arith.FLOORDIVSI: _floor,
    Arith.REMSI: lambda a, b: a - b * _quotient(a, b),
    Arith.MINSI: min,
    Arith.MAXSI: max,
    Arith.ANDI: operator.and_,
    Arith.ORI: operator.or_,
    Arith.XORI: operator.xor,
}
