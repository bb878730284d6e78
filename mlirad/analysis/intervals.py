"""Which numbers a float may be, by how it is computed: `x * x + 1e-8` is never 0, `exp(-x * x)`
never above 1.

What is read from memory, or passed around a loop, may be any number. Bounds leave room for the
rounding of 16-bit floats.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, sqrt

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.graph import Graph, Node

Interval = tuple[float, float]

ALL: Interval = (-inf, inf)
_SLACK = 4e-3
_LARGEST = {"f16": 6e4, "bf16": 3e38, "f32": 3e38, "f64": 1e308}
# normal numbers: below, digits are lost
_SMALLEST = {
    "f16": 6e-5,
    "bf16": 1e-38,
    "f32": 1e-38,
    "f64": 1e-307,
}


class Intervals:
    """The intervals of the floats of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._found: dict[int, Interval] = {}
        for node in graph.nodes():
            if (
                not node.blocks
                and len(node.results) == 1
                and graph.floats[node.results[0]]
                and node.name in _RULES
            ):
                low, high = _RULES[node.name](self, node)
                if low == low and high == high:
                    self._found[node.results[0]] = (low, high)

    def of(self, value: int) -> Interval:
        """Between which numbers a value lies, unless it is NaN."""
        return self._found.get(value, ALL)

    def is_away_from_zero(self, value: int) -> bool:
        """Whether a value, and its square, may be divided by."""
        low, high = self.of(value)
        least = sqrt(_SMALLEST[self._type(value)])
        return low > least or high < -least

    def exponential_is_finite(self, value: int) -> bool:
        """Whether `exp` of a value cannot overflow."""
        high = self.of(value)[1]
        return high < 700.0 and exp(high) < _LARGEST[self._type(value)]

    def _type(self, value: int) -> str:
        return str(b.element_of(self.graph.values[value].type))

    def _constant(self, node: Node) -> Interval:
        value = ir.FloatAttr(node.op.attributes["value"]).value
        return value, value

    def _add(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands)
        return _sum(a, c, -1.0), _sum(b, d, 1.0)

    def _subtract(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands)
        return _sum(a, -d, -1.0), _sum(b, -c, 1.0)

    def _multiply(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands)
        corners = [_product(p, q) for p in (a, b) for q in (c, d)]
        low, high = min(corners), max(corners)
        if node.operands[0] == node.operands[1] and a < 0.0:
            low = 0.0 if b > 0.0 else _product(b, b)
        return _not_lost(low, self._type(node.results[0])), high

    def _divide(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands)
        if c <= 0.0 or a < 0.0:
            return ALL
        return _not_lost(a / d if d < inf else 0.0, self._type(node.results[0])), b / c

    def _negate(self, node: Node) -> Interval:
        low, high = self.of(node.operands[0])
        return -high, -low

    def _absolute(self, node: Node) -> Interval:
        low, high = self.of(node.operands[0])
        return max(low, -high, 0.0), max(-low, high)

    def _root(self, node: Node) -> Interval:
        low, high = self.of(node.operands[0])
        return sqrt(max(low, 0.0)) * (1.0 - _SLACK), sqrt(max(high, 0.0)) * (1.0 + _SLACK)

    def _exponential(self, node: Node) -> Interval:
        low, high = self.of(node.operands[0])
        return _not_lost(_exp(low), self._type(node.results[0])), _exp(high) * (1.0 + _SLACK)

    def _larger(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands)
        return max(a, c), max(b, d)

    def _smaller(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands)
        return min(a, c), min(b, d)

    def _chosen(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.of(v) for v in node.operands[1:])
        return min(a, c), max(b, d)

    def _unit(self, node: Node) -> Interval:
        return -1.0 - _SLACK, 1.0 + _SLACK

    def _up_to_two(self, node: Node) -> Interval:
        return 0.0, 2.0 + 2.0 * _SLACK


def _sum(a: float, b: float, side: float) -> float:
    """A bound of a sum, moved outwards by what rounding may do where the summands cancel."""
    total = a + b
    return (
        total if total in (inf, -inf) or a * b >= 0.0 else total + side * _SLACK * (abs(a) + abs(b))
    )


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def _exp(x: float) -> float:
    return inf if x >= 700.0 else exp(x)


def _not_lost(low: float, type_: str) -> float:
    """A lower bound that is above 0 only as far as the type has normal numbers."""
    return low * (1.0 - _SLACK) if low > _SMALLEST[type_] else min(low, 0.0)


_RULES: dict[str, Callable[[Intervals, Node], Interval]] = {
    "arith.constant": Intervals._constant,
    "arith.addf": Intervals._add,
    "arith.subf": Intervals._subtract,
    "arith.mulf": Intervals._multiply,
    "arith.divf": Intervals._divide,
    "arith.negf": Intervals._negate,
    "arith.maximumf": Intervals._larger,
    "arith.minimumf": Intervals._smaller,
    "arith.maxnumf": Intervals._larger,
    "arith.minnumf": Intervals._smaller,
    "arith.select": Intervals._chosen,
    "math.absf": Intervals._absolute,
    "math.sqrt": Intervals._root,
    "math.exp": Intervals._exponential,
    "math.sin": Intervals._unit,
    "math.cos": Intervals._unit,
    "math.tanh": Intervals._unit,
    "math.erf": Intervals._unit,
    "math.erfc": Intervals._up_to_two,
}
