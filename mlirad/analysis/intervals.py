"""The range of a float, from the way in which it is computed: `x * x + 1e-8` is never 0,
`exp(-x * x)` never above 1.

What is read from memory, or passed around a loop, may be any number. Bounds leave room for the
rounding of 16-bit floats.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.function import ALL, Function, Interval, Shape, Slope
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.graph import Graph, Node
from mlirad.ir.ops import Arith

_SLACK = 4e-3
_LARGEST = {"f16": 6e4, "bf16": 3e38, "f32": 3e38, "f64": 1e308}
# normal numbers: below, digits are lost
_SMALLEST = {"f16": 6e-5, "bf16": 1e-38, "f32": 1e-38, "f64": 1e-307}


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

    def range_of(self, value: int) -> Interval:
        """Return between which numbers a value lies, unless it is NaN."""
        return self._found.get(value, ALL)

    def is_away_from_zero(self, value: int) -> bool:
        """Return whether a value, and its square, may be divided by."""
        low, high = self.range_of(value)
        least = sqrt(_SMALLEST[self._type(value)])
        return low > least or high < -least

    def is_number(self, function: Function, node: Node) -> bool:
        """Return whether a function gives a finite number, of what its operands may be."""
        least, most = function.domain
        bounds = [self.range_of(operand) for operand in node.operands]
        if not all(least <= low and high <= most for low, high in bounds):
            return False
        low, high = self.range_of(node.results[0])
        largest = _LARGEST[self._type(node.results[0])]
        return function.slope is not Slope.OVERFLOW or -largest < low <= high < largest

    def _type(self, value: int) -> str:
        return str(b.element_of(self.graph.values[value].type))

    def _constant(self, node: Node) -> Interval:
        value = ir.FloatAttr(node.op.attributes["value"]).value
        return value, value

    def _add(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands)
        return _sum(a, c, -1.0), _sum(b, d, 1.0)

    def _subtract(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands)
        return _sum(a, -d, -1.0), _sum(b, -c, 1.0)

    def _multiply(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands)
        corners = [_product(p, q) for p in (a, b) for q in (c, d)]
        low, high = min(corners), max(corners)
        if node.operands[0] == node.operands[1] and a < 0.0:
            low = 0.0 if b > 0.0 else _product(b, b)
        return self._lower(node, low), high

    def _divide(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands)
        if c <= 0.0 or a < 0.0:
            return ALL
        return self._lower(node, a / d if d < inf else 0.0), b / c

    def _negate(self, node: Node) -> Interval:
        low, high = self.range_of(node.operands[0])
        return -high, -low

    def _function(self, node: Node) -> Interval:
        function = FUNCTIONS[node.name]
        low, high = self.range_of(node.operands[0])
        if function.shape is Shape.OTHER:
            return self._round(node, *function.range)
        if function.shape is Shape.VALLEY:
            low, high = max(low, -high, 0.0), max(-low, high)
        if function.shape is Shape.DECREASING:
            low, high = high, low
        least, most = function.range
        return self._round(node, _at(function, low, least), _at(function, high, most))

    def _round(self, node: Node, low: float, high: float) -> Interval:
        """Bounds with room for the rounding of a node's result."""
        return self._lower(node, low), -self._lower(node, -high)

    def _lower(self, node: Node, low: float) -> float:
        """A lower bound of a node's result with room for rounding, above 0 only as far as its type
        has normal numbers."""
        if low <= 0.0:
            return low * (1.0 + _SLACK)
        return low * (1.0 - _SLACK) if low > _SMALLEST[self._type(node.results[0])] else 0.0

    def _larger(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands)
        return max(a, c), max(b, d)

    def _smaller(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands)
        return min(a, c), min(b, d)

    def _choose(self, node: Node) -> Interval:
        (a, b), (c, d) = (self.range_of(v) for v in node.operands[1:])
        return min(a, c), max(b, d)


def _sum(a: float, b: float, side: float) -> float:
    """A bound of a sum, moved outwards by what rounding may do where the summands cancel."""
    total = a + b
    return (
        total if total in (inf, -inf) or a * b >= 0.0 else total + side * _SLACK * (abs(a) + abs(b))
    )


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def _at(function: Function, argument: float, end: float) -> float:
    """A function of a bound of its argument; beyond its domain, or infinite, an end of its
    range."""
    low, high = function.domain
    if not low <= argument <= high:
        return end
    try:
        return float(function.python(argument))
    except OverflowError:
        return end


_RULES: dict[str, Callable[[Intervals, Node], Interval]] = {
    Arith.CONSTANT: Intervals._constant,
    Arith.ADDF: Intervals._add,
    Arith.SUBF: Intervals._subtract,
    Arith.MULF: Intervals._multiply,
    Arith.DIVF: Intervals._divide,
    Arith.NEGF: Intervals._negate,
    Arith.MAXIMUMF: Intervals._larger,
    Arith.MINIMUMF: Intervals._smaller,
    Arith.MAXNUMF: Intervals._larger,
    Arith.MINNUMF: Intervals._smaller,
    Arith.SELECT: Intervals._choose,
    **dict.fromkeys(FUNCTIONS, Intervals._function),
}
