"""Spans that meet another, against a look at each."""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.ad.budget.spans import FEW, Span, Spans, common, meet, without


@pytest.mark.parametrize("shape", [(3000,), (400, 5), (40, 50, 3)])
def test_spans_that_meet_another_are_found_oldest_first(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    spans, known = Spans(), dict[Span, int]()
    whole: Span = tuple((0, extent - 1) for extent in shape)
    spans.add(whole, 0)
    known[whole] = 0
    unit = 1
    for number in range(300):
        corners = [sorted(rng.integers(0, extent, 2).tolist()) for extent in shape]
        if number % 2:  # as small as an element
            corners = [[low, low] for low, _ in corners]
        asked: Span = tuple((low, high) for low, high in corners)
        found = spans.meeting(asked)
        assert found == [(span, one) for span, one in known.items() if meet(span, asked)]
        for span, one in found:  # take what is asked for out of each
            if len(known) > 4 * FEW and number % 2 == 0:
                continue
            assert spans.pop(span) == known.pop(span) == one
            for piece in [common(span, asked), *without(span, asked)]:
                spans.add(piece, unit)
                known[piece] = unit
                unit += 1
        assert len(spans) == len(known)
    assert len(known) > FEW
    assert all(
        span in spans and spans[span] == one == spans.get(span) for span, one in known.items()
    )
