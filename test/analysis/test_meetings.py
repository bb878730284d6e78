"""Where iterations of parallel loops meet, against loops that are run."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir import build as b


def _index(draw: Random, ivs: list[ir.Value]) -> tuple[ir.Value, tuple[int, ...]]:
    """A sum of the indices of a loop, maybe modulo a number, and what it was drawn as."""
    factors = [draw.choice([-2, -1, 0, 1, 1, 2, 3, 5]) for _ in ivs]
    constant, modulus = draw.randrange(-4, 9), draw.choice([0, 0, 2, 3, 4, 6])
    total = b.index(constant)
    for iv, factor in zip(ivs, factors):
        total = b.add(total, b.mul(iv, b.index(factor)))
    if modulus:
        n = b.index(modulus)
        total = b.sub(total, b.mul(b.make("arith.floordivsi", total.type, [total, n]), n))
    return total, (constant, modulus, *factors)


def _value(drawn: tuple[int, ...], at: tuple[int, ...]) -> int:
    constant, modulus, *factors = drawn
    total = constant + sum(factor * i for factor, i in zip(factors, at))
    return total % modulus if modulus else total


@pytest.mark.parametrize("seed", range(150))
def test_what_is_said_holds(seed: int) -> None:
    """Accesses said never to meet, or to meet in no other iteration, do not."""
    draw = Random(seed)
    rank, extents = draw.choice([1, 2]), [draw.randrange(1, 7) for _ in range(2)]
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            ends = [b.index(extent) for extent in extents[:rank]]
            loop = b.parallel_loop([b.index(0)] * rank, ends, [b.index(1)] * rank)
            with ir.InsertionPoint(loop.body):
                left, right = ([_index(draw, loop.indices) for _ in range(rank)] for _ in range(2))
                if draw.random() < 0.5:
                    right = left
        meetings = Meetings(loop.op)
        forms = [meetings.residues([value for value, _ in one]) for one in (left, right)]
        never = meetings.never(*forms)
        apart = [meetings.are_apart(*forms, iv) for iv in loop.indices]
    box = list(product(*(range(extent) for extent in extents[:rank])))
    for one, other in product(box, box):
        if [_value(d, one) for _, d in left] == [_value(d, other) for _, d in right]:
            assert not never
            assert not any(apart[k] and one[k] != other[k] for k in range(rank))


def test_digits_are_one_to_one() -> None:
    """`16 i + j` with j below 16 is another number in every iteration, `15 i + j` is not."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            zero, one, end = b.index(0), b.index(1), b.index(16)
            loop = b.parallel_loop([zero] * 2, [end] * 2, [one] * 2)
            with ir.InsertionPoint(loop.body):
                found = [
                    b.add(b.mul(loop.indices[0], b.index(factor)), loop.indices[1])
                    for factor in (16, 15)
                ]
        meetings = Meetings(loop.op)
        sums = [meetings.residues([index]) for index in found]
        assert all(meetings.are_apart(sums[0], sums[0], iv) for iv in loop.indices)
        assert not any(meetings.are_apart(sums[1], sums[1], iv) for iv in loop.indices)
