"""The heuristic that chooses the content to give up first: that of the lowest score.

It is `h_DTR` of Kirisame et al. (Dynamic Tensor Rematerialization, ICLR 2021), whose staleness is
here how far the launch that made a content lies in front of the place that the sweep has come to: a
reverse comes to the last ones first. `balanced` divides by a power of it: on a chain of equal
steps, of which r are run again for each at most, the gaps of a binomial schedule grow with that
power.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Candidate(NamedTuple):
    """A content that may be given up.

    `alone`: what its launch costs; `around`: what would run again with it; `age`: launches between
    the one that made it and where the sweep is; `repetitions`: how often a launch would be run
    again at most, by a binomial schedule for so many contents in as much room.
    """

    size: int
    alone: float
    around: float
    age: int
    repetitions: int


Heuristic = Callable[[Candidate], float]


def balanced(candidate: Candidate) -> float:
    """`h_DTR` with a power of the age, that of a binomial schedule."""
    power = 1.0 - 1.0 / max(1, candidate.repetitions)
    return candidate.around / (candidate.size * float(candidate.age + 1) ** power)
