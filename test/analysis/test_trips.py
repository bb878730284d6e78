"""What is known of how often loops run, against Python's ranges."""

from __future__ import annotations

import pytest

from mlirad.analysis.trips import UNKNOWN, Span, certainly_runs, longest_chain, span_of, spans
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.walk import constant_integer


@pytest.mark.parametrize("low", (-1, 0, 2))
@pytest.mark.parametrize("high", (-3, 0, 2, 3, 9))
@pytest.mark.parametrize("step", (1, 2, 5))
def test_known_loops(low: int, high: int, step: int) -> None:
    """Trips as they are known, and as they are computed where they are folded."""
    expected = len(range(low, high, step))
    span = Span(low, high, step)
    assert span.trips == span.expected_trips == expected
    assert span.runs == (expected > 0)
    assert span.is_single == (expected == 1)
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            loop = b.for_loop(b.index(low), b.index(high), b.index(step))
            (bounds,) = bounds_of(loop.op)
            assert constant_integer(bounds.trips()) == expected
        assert spans(loop.op) == [span] == [span_of(loop.induction)]
        assert certainly_runs(loop.op) == (expected > 0)


def test_unknown_loops() -> None:
    """A bound that is not known leaves the trips open; a step that is not known not always."""
    assert (Span(None, 4, 1).trips, Span(0, None, 1).trips, Span(0, 4, None).trips) == (None,) * 3
    assert Span(None, 4, 1).expected_trips == UNKNOWN
    assert not Span(None, 4, 1).runs and not Span(None, 4, 1).is_single
    assert Span(0, 4, None).runs and not Span(0, 4, None).is_single
    assert Span(3, 4, None).is_single


def test_loops_within_one_another() -> None:
    """The longest of them counts; one that begins at another's index makes no more trips than from
    that one's first value."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        index = ir.IndexType.get()
        with ir.InsertionPoint(module.body):
            unknown = ir.Operation.create("test.bound", [index]).result
            outer = b.for_loop(b.index(0), b.index(4), b.index(1))
        with ir.InsertionPoint(outer.body):
            inner = b.for_loop(outer.induction, b.index(100), b.index(10))
            short = b.for_loop(b.index(0), b.index(3), b.index(1))
            b.yield_()
        for loop in (inner, short):
            with ir.InsertionPoint(loop.body):
                b.yield_()
        assert longest_chain(short.op) == 1
        assert longest_chain(outer.op) == 10
        assert longest_chain(module.operation) == 40
        short.op.operands[1] = unknown
        assert longest_chain(module.operation) is None
