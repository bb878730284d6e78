"""Ranges of rows that launches touch."""

from __future__ import annotations

from mlirad.analysis.footprints.footprint import Axis, Bound
from mlirad.analysis.linear import Linear
from mlirad.runtime.footprints import launch_ranges


def bound(constant: int, **factors: int) -> Bound:
    """A sum of arguments `a`, `b` ... and a constant."""
    return Linear(frozenset((ord(name) - ord("a"), n) for name, n in factors.items()), constant)


def ranges(*axes: Axis, values: tuple[int, ...] = (10, 100)) -> list[tuple[int | None, int | None]]:
    return sorted(
        (box(values)[0] for box in launch_ranges([(axis,) for axis in axes])),
        key=lambda ends: ends[0] or 0,
    )


def test_ranges_that_line_up_are_one() -> None:
    rows = [Axis(bound(k, a=1), bound(k, a=1)) for k in (-1, 1, -2, 0)]
    assert ranges(*rows) == [(8, 11)]
    assert ranges(*rows[:2]) == [(9, 9), (11, 11)]
    assert ranges(Axis(bound(0), bound(5)), Axis(bound(3), bound(9))) == [(0, 9)]
    contained = [Axis(bound(0, a=1), bound(9, a=1)), Axis(bound(2, a=1), bound(3, a=1))]
    assert ranges(*contained) == [(10, 19)]


def test_ranges_that_move_in_another_way_are_apart() -> None:
    by_a, by_b = Axis(bound(0, a=1), bound(0, a=1)), Axis(bound(-89, b=1), bound(-89, b=1))
    twice = Axis(bound(-8, a=2), bound(-8, a=2))
    assert ranges(by_a, by_b, twice) == [(10, 10), (11, 11), (12, 12)]
    growing = Axis(bound(0), bound(0, a=1))
    assert ranges(growing, by_a) == [(0, 10), (10, 10)]
    assert ranges(Axis(None, bound(4)), Axis(bound(2), bound(3))) == [(None, 4), (2, 3)]
