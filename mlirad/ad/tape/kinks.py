"""Points at which a loss is not smooth, because a decision of the program changes there: a branch,
`max`, `floor`, the end of a loop."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from mlirad.ad.tape.slopes import agree

_STEPS = (2.0**-14, 2.0**-18, 2.0**-22)


class Kink(msgspec.Struct, frozen=True):
    """The slopes before and behind a point at which they differ; NaN for one that is not finite."""

    before: float
    behind: float

    def allows(self, derivative: float, rel: float, scale: float) -> bool:
        """Return whether a derivative is one of the slopes, or between them."""
        low, high = sorted((self.before, self.behind))
        return low <= derivative <= high or agree(
            derivative, [self.before, self.behind], rel, scale
        )

    def __str__(self) -> str:
        before, behind = (
            "not finite" if math.isnan(slope) else f"{slope + 0.0:.6g}"
            for slope in (self.before, self.behind)
        )
        return (
            "every step, however small, crosses a decision (a branch, max, min, floor, or break): "
            f"the slope is {before} before the point and {behind} after it"
        )


def find_kink(f: Callable[[float], float]) -> Kink | None:
    """Return the slopes of a function on either side of 0, if they differ for every step, and one
    of them does not depend on the step."""
    value = f(0.0)
    before, behind = (
        [(4 * f(step) - f(2 * step) - 3 * value) / (2 * step) for step in steps]
        for steps in ([-step for step in _STEPS], _STEPS)
    )
    if any(_are_close(left, right, value) for left, right in zip(before, behind)):
        return None
    slopes = [
        side[-1] if _are_close(side[-2], side[-1], value) else math.nan for side in (before, behind)
    ]
    return None if all(map(math.isnan, slopes)) else Kink(*slopes)


def _are_close(first: float, second: float, scale: float) -> bool:
    """Return whether two slopes are the same, with the rounding of the smallest step."""
    largest = max(abs(first), abs(second))
    return abs(first - second) <= 1e-4 * largest + 1e-7 * (1 + abs(scale))
