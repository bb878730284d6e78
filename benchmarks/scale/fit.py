"""Exponents of growth: of the upper decade, and between neighboring sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

DECADE = 16.5  # sizes are a factor of 4 apart, so the upper decade is that of three
TOLERANCE = 0.15


@dataclass(frozen=True)
class Exponents:
    """Of the upper decade, and the largest between neighbors, which are at `at` and after it."""

    upper: float
    largest: float
    at: int


def exponents(counts: Sequence[int], values: Sequence[float]) -> Exponents:
    """The exponents of values over counts, of which there are at least two."""
    points = [(log(count), log(value)) for count, value in zip(counts, values)]
    local = [(y - before) / (x - last) for (last, before), (x, y) in pairwise(points)]
    upper = [point for count, point in zip(counts, points) if count * DECADE >= counts[-1]]
    at = max(range(len(local)), key=local.__getitem__)
    return Exponents(_slope(upper[-max(2, len(upper)) :] or points[-2:]), local[at], at)


def _slope(points: Sequence[tuple[float, float]]) -> float:
    x_mean, y_mean = (sum(values) / len(points) for values in zip(*points))
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / spread
