"""Sums in their normal form, as analyses add, compare and read them."""

from __future__ import annotations

from random import Random

import pytest

from mlirad.analysis.footprints.footprint import Axis, box_attribute, read_box
from mlirad.analysis.linear import Linear, evaluate_sum, linear_form, number, unknown
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir import build as b


def _drawn(draw: Random) -> Linear[int]:
    terms = {(name, draw.choice([-2, -1, 1, 3])) for name in range(4) if draw.random() < 0.5}
    return Linear(frozenset(terms), draw.randrange(-5, 5))


@pytest.mark.parametrize("seed", range(20))
def test_arithmetic_is_that_of_numbers(seed: int) -> None:
    """What holds of sums holds of the numbers that they are."""
    draw = Random(seed)
    values = [draw.randrange(-9, 9) for _ in range(4)]
    left, right, factor = _drawn(draw), _drawn(draw), draw.randrange(-3, 4)
    x, y = evaluate_sum(left, values), evaluate_sum(right, values)
    assert evaluate_sum(left.plus(right, factor), values) == x + factor * y
    assert evaluate_sum(left.times(factor), values) == factor * x
    parts = {name: _drawn(draw) for name in left.names}
    inner = [evaluate_sum(parts[name], values) if name in parts else 0 for name in range(4)]
    assert evaluate_sum(left.substitute(parts), values) == evaluate_sum(left, inner)


def test_equal_sums_are_equal() -> None:
    """Terms have no order, and what cancels is not there."""
    i, j = unknown("i"), unknown("j")
    assert i.plus(j, 2).plus(number(1)) == number(1).plus(j).plus(i).plus(j)
    assert i.plus(j).plus(i, -1) == j
    assert i.plus(i, -1) == number(0)
    assert i.times(0) == number(0)
    assert i.plus(j, 3).without("j") == i
    assert (i.plus(j, 3).coefficient("j"), i.coefficient("j")) == (3, 0)


def test_values_are_read_through_arithmetic() -> None:
    """`2 * (n + 3) - n`, through a cast; a product of two unknowns is one."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse("func.func private @f(%n: i32) { return }")
        body = module.body.operations[0].regions[0].blocks[0]
        n = body.arguments[0]
        with ir.InsertionPoint.at_block_begin(body):
            i32 = b.integer_type(32)
            twice = b.mul(b.number(2, i32), b.add(n, b.number(3, i32)))
            index = b.make("arith.index_cast", b.index_type(), [b.sub(twice, n)])
            square = b.mul(n, n)
        assert linear_form(index) == unknown(n).plus(number(6))
        assert linear_form(square) == unknown(square)


def test_numbers_of_few_bits_are_names() -> None:
    """They wrap around: `i8(i) + 100` is no `i + 100`, however it is cast back."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse("func.func private @f(%n: i32) { return }")
        body = module.body.operations[0].regions[0].blocks[0]
        i8, i32 = b.integer_type(8), b.integer_type(32)
        with ir.InsertionPoint.at_block_begin(body):
            narrow = b.make("arith.trunci", i8, [body.arguments[0]])
            shifted = b.add(narrow, b.number(100, i8))
            wide = b.add(b.make("arith.extsi", i32, [shifted]), b.number(28, i32))
        assert linear_form(wide) == unknown(shifted).plus(number(28))


def test_boxes_are_kept_in_ir() -> None:
    """Bounds as they were, one that is not known included."""
    axes = (
        Axis(number(0), unknown(1).plus(number(-1))),
        Axis(None, unknown(0).plus(unknown(2), 3)),
    )
    with context():
        assert read_box(box_attribute(axes)) == axes
