"""Bounds of floats by their form, against values: every expression is computed at many points, and
stays within."""

import math
import random

import pytest

from mlirad.analysis.intervals import Intervals
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.graph import Graph
from mlirad.ir.walk import functions

UNARY = {
    "arith.negf": lambda a: -a,
    **{op: function.python for op, function in FUNCTIONS.items() if function.arity == 1},
}
BINARY = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b if b else math.nan,
    "arith.maximumf": max,
    "arith.minimumf": min,
}


def _expression(draw: random.Random, length: int):
    """Ops over two arguments and constants, as a list of names with the numbers of their
    operands."""
    steps = []
    for k in range(length):
        known = 6 + k
        if draw.random() < 0.4:
            steps.append((draw.choice(sorted(UNARY)), [draw.randrange(known)]))
        else:
            a = draw.randrange(known)
            steps.append(
                (
                    draw.choice(sorted(BINARY)),
                    [a, a if draw.random() < 0.4 else draw.randrange(known)],
                )
            )
    return steps


CONSTANTS = (1.0, 1e-8, -0.5, 3.0)


def _text(steps) -> str:
    lines = [f"%v{2 + k} = arith.constant {value:e} : f64" for k, value in enumerate(CONSTANTS)]
    lines += [
        f"%v{6 + k} = {name} {', '.join(f'%v{n}' for n in operands)} : f64"
        for k, (name, operands) in enumerate(steps)
    ]
    return "func.func @f(%v0: f64, %v1: f64) {\n" + "\n".join(lines) + "\nreturn\n}"


def _values(steps, first: float, second: float) -> list[float]:
    values = [first, second, *CONSTANTS]
    for name, operands in steps:
        numbers = [values[n] for n in operands]
        bad = any(math.isnan(n) or math.isinf(n) for n in numbers)
        values.append(math.nan if bad else _result({**UNARY, **BINARY}[name], numbers))
    return values


def _result(function, numbers: list[float]) -> float:
    try:
        return function(*numbers)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan


@pytest.mark.parametrize("seed", range(60))
def test_values_lie_within_their_bounds(seed):
    draw = random.Random(seed)
    steps = _expression(draw, 12)
    with context():
        module = ir.Module.parse(_text(steps))
        graph = Graph(functions(module.operation)[0])
        intervals = Intervals(graph)
        names = [*range(2), *[node.results[0] for node in graph.nodes() if node.results]]
        bounds = [intervals.range_of(n) for n in names]
    assert any(bound != (-math.inf, math.inf) for bound in bounds[6:])
    for _ in range(50):
        points = [
            draw.choice([0.0, 1e-9, -1e-3, 1.0, draw.uniform(-5, 5), draw.uniform(-1e6, 1e6)])
            for _ in range(2)
        ]
        for value, (low, high) in zip(_values(steps, *points), bounds):
            assert math.isnan(value) or low <= value <= high


def test_what_may_be_divided_by():
    with context():
        module = ir.Module.parse("""func.func @f(%x: f32, %h: f16) {
  %soft = arith.constant 1.0e-8 : f32
  %xx = arith.mulf %x, %x : f32
  %a = arith.addf %xx, %soft : f32
  %b = math.sqrt %a : f32
  %n = arith.negf %xx : f32
  %e = math.exp %n : f32
  %g = math.exp %xx : f32
  %tenth = arith.constant 0.1 : f16
  %thousandth = arith.constant 0.001 : f16
  %hh = arith.mulf %h, %h : f16
  %c = arith.addf %hh, %tenth : f16
  %d = arith.addf %hh, %thousandth : f16
  return
}""")
        graph = Graph(functions(module.operation)[0])
        intervals = Intervals(graph)
        nodes = [node for node in graph.nodes() if node.results]
        soft, xx, a, b, _, e, g, _, _, _, c, d = [node.results[0] for node in nodes]
        finite = [intervals.is_number(FUNCTIONS[node.name], node) for node in (nodes[5], nodes[6])]
    assert [intervals.is_away_from_zero(v) for v in (soft, xx, a, b, e, g, c, d)] == [
        True,
        False,
        True,
        True,
        False,
        True,
        True,
        False,
    ]
    assert finite == [True, False]
