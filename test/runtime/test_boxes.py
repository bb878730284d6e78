"""Unions of boxes against masks."""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.runtime.boxes import Box, CoveredBoxes, Region

SHAPE = (12, 9)


def _random_box(rng: np.random.Generator) -> Box:
    ends = []
    for extent in SHAPE:
        low, high = sorted(rng.integers(0, extent, 2).tolist())
        open_low, open_high = rng.random(2) < 0.1
        ends.append((None if open_low else low, None if open_high else high))
    return tuple(ends)


def _mask(boxes: list[Box]) -> np.ndarray:
    mask = np.zeros(SHAPE, bool)
    for box in boxes:
        mask[tuple(slice(low, None if high is None else high + 1) for low, high in box)] = True
    return mask


@pytest.mark.parametrize("seed", range(20))
def test_a_region_holds_at_least_its_boxes_and_covered_at_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    region, covered, added = Region(), CoveredBoxes(limit=3), []
    found = 0
    for _ in range(60):
        box = _random_box(rng)
        region.add(box)
        covered.add(box)
        added.append(box)
        mask, asked = _mask(added), _random_box(rng)
        inside = _mask([asked])
        assert region.meets(asked) or not (mask & inside).any()
        assert mask[inside].all() or not covered.holds(asked)
        assert covered.holds(box)
        found += covered.holds(asked)
    assert found


@pytest.mark.parametrize("seed", range(20))
def test_what_is_dropped_leaves_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    region, mask, empty = Region(), np.zeros(SHAPE, bool), 0
    for _ in range(200):
        box = _random_box(rng)
        if rng.random() < 0.3:
            region.add(box)
            mask |= _mask([box])
        else:
            region.drop(box)
            mask &= ~_mask([box])
        asked = _random_box(rng)
        assert region.meets(asked) or not (mask & _mask([asked])).any()
        empty += not region.meets(asked)
    assert empty


def test_of_a_line_that_is_dropped_nothing_is_left() -> None:
    region = Region()
    region.add(((None, None), (0, 8)))
    region.drop(((3, 5), (0, 8)))
    assert region.meets(((2, 2), (4, 4))) and region.meets(((6, None), (4, 4)))
    assert not region.meets(((3, 5), (4, 4)))
    region.drop(((None, 2), (None, None)))
    region.drop(((6, None), (0, None)))
    assert not region.meets(((None, None), (None, None)))


def test_lines_become_one_box() -> None:
    covered = CoveredBoxes()
    for row in range(1000):
        covered.add(((row, row), (0, 8)))
    assert covered.holds(((0, 999), (0, 8)))
    assert not covered.holds(((0, 1000), (0, 8)))


def test_what_is_read_and_written_again_and_again_stays_a_few_boxes() -> None:
    region = Region()
    for _ in range(100):
        region.add(((0, 11), (1, 7)))
        region.drop(((1, 10), (1, 7)))
    assert sorted(region.boxes) == [((0, 0), (1, 7)), ((11, 11), (1, 7))]


@pytest.mark.parametrize("drops_first", [True, False])
def test_a_region_stays_short_in_any_order(drops_first: bool) -> None:
    region, order = Region(), np.random.default_rng(3).permutation(2000).tolist()
    region.add(((0, 1999), (0, 8)))
    for row in order:
        box: Box = ((row, row), (0, 8))
        if drops_first:
            region.drop(box)
        region.add(box)
        assert region.meets(box)
        assert len(region.boxes) <= Region.LIMIT
    for row in order:
        region.drop(((row, row), (0, 8)))
        assert len(region.boxes) <= Region.LIMIT


def test_a_box_between_two_joins_both() -> None:
    region = Region()
    for row in (1, 5, 3, 2, 4):
        region.add(((row, row), (0, 8)))
    assert region.boxes == [((1, 5), (0, 8))]
